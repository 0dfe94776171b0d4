/** The air of a room, for sensors: curves that follow the day, people and weather, with some noise. */
import type { BoardHost } from '../types.js';
import { Noise, round } from './noise.js';

const DAY_MS = 86_400_000;

/** What a room is asked through: a board's host, or less. */
export type RoomHost = Pick<BoardHost, 'clock' | 'random' | 'gatewayTime'>;

/** Each value depends on the time of day alone, plus noise that moves slowly. */
export class Room {
  readonly #host: RoomHost;
  readonly #startedAt: number;
  readonly #noise: Noise[];

  constructor(host: RoomHost) {
    this.#host = host;
    this.#startedAt = host.clock.now();
    this.#noise = Array.from({ length: 5 }, () => new Noise(host.random));
  }

  /** Between 17 and 24 °C, warmest in the afternoon. */
  temperature(): number {
    return round(
      20.6 + 2.2 * this.#wave(15.5) + 0.5 * this.#drift(0, 900) + 0.06 * this.#jitter(),
      2,
    );
  }

  /** Falls while it is warm. */
  humidity(): number {
    const value = 47 - 7 * this.#wave(15.5) + 5 * this.#drift(1, 2_400) + 0.2 * this.#jitter();
    return round(clamp(value, 15, 95), 1);
  }

  /** Weather: slow, and the same by day and night but for a breath of tide. */
  pressure(): number {
    return round(1013 + 9 * this.#drift(2, 40_000) + 0.5 * this.#wave(10, 2), 1);
  }

  /** People: asleep at night, out by day, in the room in the evening. */
  co2(): number {
    const hour = this.#hour();
    const people = bump(hour, 7.3, 1) * 0.6 + bump(hour, 20.5, 2.6) + bump(hour, 13, 1.2) * 0.3;
    return round(
      clamp(430 + 620 * people + 40 * this.#drift(3, 600) + 3 * this.#jitter(), 405, 2500),
      0,
    );
  }

  /** Daylight through a window with clouds, lamps in the evening, nothing at night. */
  light(): number {
    const hour = this.#hour();
    const sun = Math.max(0, Math.sin(((hour - 6.2) / 13.4) * Math.PI));
    const day =
      hour > 6.2 && hour < 19.6 ? 740 * sun ** 1.3 * (0.75 + 0.25 * this.#drift(4, 400)) : 0;
    const lamps = 165 * bump(hour, 20.6, 1.9);
    return round(Math.max(0, day + lamps + this.#jitter()), 0);
  }

  /** A percent each two days. */
  battery(): number {
    const days = (this.#host.clock.now() - this.#startedAt) / DAY_MS;
    return Math.max(3, Math.round(97 - days / 2));
  }

  /** Local hour by the gateway's time; a board that has none yet takes its start for ten o'clock. */
  #hour(): number {
    const time = this.#host.gatewayTime();
    const ms = time
      ? time.unixMs + time.utcOffsetMin * 60_000
      : this.#host.clock.now() - this.#startedAt + 10 * 3_600_000;
    return ((((ms % DAY_MS) + DAY_MS) % DAY_MS) / DAY_MS) * 24;
  }

  /** A cosine of the day that is highest at `peak` o'clock. */
  #wave(peak: number, times = 1): number {
    return Math.cos(((this.#hour() - peak) / 24) * 2 * Math.PI * times);
  }

  #drift(channel: number, periodS: number): number {
    return this.#noise[channel]?.at(this.#host.clock.now() / 1000 / periodS) ?? 0;
  }

  #jitter(): number {
    return this.#host.random() * 2 - 1;
  }
}

/** A hill of height 1 at `at` o'clock that wraps round midnight. */
function bump(hour: number, at: number, width: number): number {
  const apart = Math.min(Math.abs(hour - at), 24 - Math.abs(hour - at));
  return Math.exp(-((apart / width) ** 2));
}

function clamp(value: number, low: number, high: number): number {
  return Math.max(low, Math.min(high, value));
}
