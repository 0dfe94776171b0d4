/** An answer that is not a success: status and body as they go out. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  constructor(
    readonly status: number,
    message: string,
    readonly flags: Readonly<Record<string, unknown>> = {},
  ) {
    super(message);
  }
}

export const loginRequired = (): Refusal => new Refusal(401, 'login required');
