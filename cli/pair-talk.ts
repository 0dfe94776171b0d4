/** The questions of `pair` on a terminal. */
import { cancel, intro, isCancel, log, outro, select, spinner, text } from '@clack/prompts';
import type { Talk } from './pair-types.js';
import { bars, needs } from './sighting-words.js';
import { clean } from './text.js';

export function clackTalk(): Talk {
  intro('Pair a board over Bluetooth LE');
  let turning: ReturnType<typeof spinner> | undefined;
  return {
    async looking(work) {
      const turn = spinner();
      turn.start('Listening for boards');
      try {
        const found = await work;
        turn.stop('Boards that are heard');
        return found;
      } catch (error) {
        turn.stop('Nothing was heard');
        throw error;
      }
    },
    async choose(heard) {
      const chosen = await select({
        message: heard.length === 0 ? 'No board is heard' : 'Which one?',
        options: [
          ...heard.map((seen, n) => ({
            value: n,
            label: `${bars(seen.rssi)}  ${clean(seen.name) || seen.address}`,
            hint: needs(seen),
          })),
          { value: -1, label: 'Listen again' },
          { value: -2, label: 'Stop' },
        ],
      });
      if (isCancel(chosen) || chosen === -2) return undefined;
      return heard[chosen] ?? 'again';
    },
    async text(question, wrong) {
      const typed = await text({ message: question, validate: (given = '') => wrong(given) });
      if (!isCancel(typed)) return typed;
      cancel('Stopped.');
      return undefined;
    },
    step(words) {
      if (turning === undefined) {
        turning = spinner();
        turning.start(words);
      } else turning.message(words);
    },
    end(words) {
      turning?.stop(words);
      if (turning === undefined) log.info(words);
      outro('');
    },
  };
}
