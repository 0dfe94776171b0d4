/** The compact signature of a verb's parameters. */
export interface Param {
  readonly name: string;
  readonly optional: boolean;
  readonly kind: 'text' | 'int' | 'number' | 'bool' | 'enum' | 'json';
  readonly min?: number;
  readonly max?: number;
  readonly values?: readonly string[];
}

export interface Signature {
  readonly text: string;
  readonly params: readonly Param[];
  /** `*`: further properties are passed on as they are. */
  readonly open: boolean;
}
