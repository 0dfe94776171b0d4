/** One thing that `doctor` looked at. */
export interface Check {
  name: string;
  /** `broken` makes doctor exit with 1; `warn` is something to know; `ok` needs nothing. */
  state: 'ok' | 'warn' | 'broken';
  found: string;
  /** What to do; there unless the state is `ok`. */
  fix?: string;
}

export const ok = (name: string, found: string): Check => ({ name, state: 'ok', found });

export const warn = (name: string, found: string, fix: string): Check => ({
  name,
  state: 'warn',
  found,
  fix,
});

export const broken = (name: string, found: string, fix: string): Check => ({
  name,
  state: 'broken',
  found,
  fix,
});
