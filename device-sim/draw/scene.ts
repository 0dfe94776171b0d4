/** What the camera sees: hills under a sky that follows the hour, and a line of data. */
import { createCanvas, type SKRSContext2D } from '@napi-rs/canvas';
import { fontOf, loadFonts } from './fonts.js';

export const PICTURE = { width: 640, height: 480 } as const;

export interface Scene {
  name: string;
  frame: number;
  /** 0 to 24, local. */
  hour: number;
  /** Seconds that the clouds have drifted. */
  driftS: number;
  /** `2026-03-01 14:32:05`; absent until a gateway told the time. */
  time?: string;
}

/** The scene as a JPEG. */
export function renderScene(scene: Scene): Uint8Array {
  const { width, height } = PICTURE;
  const canvas = createCanvas(width, height);
  const ctx = canvas.getContext('2d');
  const sun = Math.sin(((scene.hour - 6) / 13) * Math.PI);
  const light = Math.max(0, Math.min(1, scene.hour > 5 && scene.hour < 20 ? 0.25 + sun * 1.2 : 0));
  sky(ctx, light, sun);
  if (light > 0.05) disc(ctx, (scene.hour - 6) / 13, '#fff3c4', 30);
  else disc(ctx, ((scene.hour + 5) % 24) / 10, '#e8ecf4', 20);
  clouds(ctx, scene.driftS, light);
  hills(ctx, light);
  house(ctx, light);
  caption(ctx, scene);
  return canvas.toBuffer('image/jpeg', 82);
}

function mix(night: number[], day: number[], light: number): string {
  const parts = night.map((n, i) => Math.round(n + ((day[i] ?? 0) - n) * light));
  return `rgb(${parts.join(',')})`;
}

function sky(ctx: SKRSContext2D, light: number, sun: number): void {
  const dusk = light > 0 ? Math.max(0, 1 - Math.abs(sun) * 3) : 0;
  const gradient = ctx.createLinearGradient(0, 0, 0, 320);
  gradient.addColorStop(0, mix([10, 16, 38], [92, 148, 214], light));
  gradient.addColorStop(1, mix([34, 42, 72], [214, 230 - 70 * dusk, 240 - 130 * dusk], light));
  ctx.fillStyle = gradient;
  ctx.fillRect(0, 0, PICTURE.width, PICTURE.height);
}

function disc(ctx: SKRSContext2D, way: number, color: string, radius: number): void {
  const x = 40 + way * (PICTURE.width - 80);
  const y = 300 - Math.sin(Math.max(0, Math.min(1, way)) * Math.PI) * 230;
  ctx.fillStyle = color;
  ctx.beginPath();
  ctx.arc(x, y, radius, 0, 2 * Math.PI);
  ctx.fill();
}

function clouds(ctx: SKRSContext2D, driftS: number, light: number): void {
  ctx.fillStyle = mix([52, 60, 86], [250, 252, 255], light);
  ctx.globalAlpha = 0.85;
  for (const [i, [at, y, size]] of [
    [60, 90, 34],
    [300, 60, 26],
    [520, 130, 40],
  ].entries() as Iterable<[number, [number, number, number]]>) {
    const x = ((at + driftS * (2 + i)) % (PICTURE.width + 240)) - 120;
    for (const [dx, dy, r] of [
      [0, 0, 1],
      [0.9, 0.2, 0.8],
      [-0.9, 0.25, 0.7],
      [0.3, -0.45, 0.8],
    ] as const) {
      ctx.beginPath();
      ctx.arc(x + dx * size, y + dy * size, r * size, 0, 2 * Math.PI);
      ctx.fill();
    }
  }
  ctx.globalAlpha = 1;
}

function hills(ctx: SKRSContext2D, light: number): void {
  for (const [base, swing, night, day] of [
    [300, 46, [26, 36, 52], [120, 150, 140]],
    [350, 34, [18, 28, 38], [84, 128, 92]],
    [405, 18, [12, 20, 24], [62, 104, 62]],
  ] as const) {
    ctx.fillStyle = mix([...night], [...day], light);
    ctx.beginPath();
    ctx.moveTo(0, PICTURE.height);
    for (let x = 0; x <= PICTURE.width; x += 8) {
      const y = base - swing * Math.sin(x / 97 + base) - (swing / 2) * Math.sin(x / 41 + swing);
      ctx.lineTo(x, y);
    }
    ctx.lineTo(PICTURE.width, PICTURE.height);
    ctx.fill();
  }
}

function house(ctx: SKRSContext2D, light: number): void {
  ctx.fillStyle = mix([40, 36, 40], [214, 198, 176], light);
  ctx.fillRect(430, 350, 96, 62);
  ctx.fillStyle = mix([30, 20, 22], [150, 72, 54], light);
  ctx.beginPath();
  ctx.moveTo(418, 352);
  ctx.lineTo(478, 306);
  ctx.lineTo(538, 352);
  ctx.fill();
  // Someone is at home in the evening.
  ctx.fillStyle = light < 0.35 ? '#ffd878' : mix([30, 30, 40], [96, 112, 128], light);
  ctx.fillRect(446, 368, 22, 20);
  ctx.fillRect(488, 368, 22, 20);
}

function caption(ctx: SKRSContext2D, scene: Scene): void {
  loadFonts();
  ctx.fillStyle = 'rgba(0,0,0,0.55)';
  ctx.fillRect(0, PICTURE.height - 34, PICTURE.width, 34);
  ctx.fillStyle = '#ffffff';
  ctx.font = fontOf('mono', 16);
  ctx.textAlign = 'left';
  ctx.fillText(scene.name.slice(0, 28), 14, PICTURE.height - 11);
  ctx.textAlign = 'right';
  const said = `${scene.time ?? 'no time yet'}  #${scene.frame}`;
  ctx.fillText(said, PICTURE.width - 14, PICTURE.height - 11);
}
