/** What the display asks of its owner's agent and of their mail, and how it shows what came. */
import type { Value } from '../../protocol/kinds.js';
import { CardError, parseCard } from '../draw/cards.js';
import {
  type AgentAnswer,
  type BoardHost,
  type VerbContext,
  VerbError,
  type VerbSpec,
} from '../types.js';

export interface AgentDeps {
  host: BoardHost;
  /** Brings a card to the panel; resolves to its id. Rejects with CardError. */
  show(card: Record<string, Value>): Promise<string>;
}

/** Time kept back from a caller's patience for the way home of the answer. */
const MARGIN_MS = 500;
/** Characters of an answer that also go back to the caller. */
const TOLD = 1_000;

/** The verbs `ask` and `messages`. */
export function agentVerbs(deps: AgentDeps): VerbSpec[] {
  return [
    {
      name: 'ask',
      signature: 'text:s2000',
      description: 'asks the owner’s agent and shows its answer as a chat or as the card it made',
      run: ({ text }, ctx) => ask(deps, String(text), ctx),
    },
    {
      name: 'messages',
      signature: 'op:e(inbox,unread,send) to?:s128 body?:s2000',
      description: 'the owner’s messages: shows inbox or unread, or sends body to somebody',
      run: ({ op, to, body }, ctx) => messages(deps, String(op), { to, body }, ctx),
    },
  ];
}

async function ask(deps: AgentDeps, text: string, ctx: VerbContext): Promise<Value> {
  const shown = deps.host.ask(text).then(
    async (answer) => ({
      status: 'answered',
      card_id: await showAnswer(deps, text, answer),
      text: cut(answer.text, TOLD),
    }),
    (error: unknown) => showRefusal(deps, error),
  );
  return inTime(shown, ctx, 'asked');
}

/** The agent's own card if this panel can draw it; else both sides as a chat. */
async function showAnswer(deps: AgentDeps, text: string, answer: AgentAnswer): Promise<string> {
  const { card } = answer;
  if (typeof card === 'object' && card !== null && !Array.isArray(card) && isPlain(card)) {
    try {
      parseCard(card);
      return await deps.show(card);
    } catch (error) {
      if (!(error instanceof CardError)) throw error;
    }
  }
  const said = answer.text || '(no answer)';
  const chat = [
    { from: 'You', text },
    { from: 'Agent', text: said },
  ];
  return deps.show({ type: 'chat', title: 'Your agent', messages: chat });
}

async function messages(
  deps: AgentDeps,
  op: string,
  { to, body }: Record<string, Value | undefined>,
  ctx: VerbContext,
): Promise<Value> {
  if (op === 'send' && (!to || !body)) {
    throw new VerbError('bad_arguments', 'send needs to and body; nothing was sent');
  }
  const args: Record<string, Value> = op === 'send' ? { to: to ?? '', body: body ?? '' } : {};
  const shown = deps.host.mail(op, args).then(
    async (value) => {
      const card = op === 'send' ? sentCard(args) : mailCard(op, value);
      return { status: 'shown', card_id: await deps.show(card), messages: value };
    },
    (error: unknown) => showRefusal(deps, error),
  );
  return inTime(shown, ctx, 'sent');
}

function sentCard({ to, body }: Record<string, Value>): Record<string, Value> {
  const messages = [{ from: `To ${String(to)}`, text: String(body) }];
  return { type: 'chat', title: 'Sent', messages };
}

/** `inbox` has threads, `unread` counts by sender (wire document, part A7). */
function mailCard(op: string, value: Value): Record<string, Value> {
  const told = objectOf(value);
  const list = op === 'inbox' ? told.threads : told.from;
  const items = (Array.isArray(list) ? list : []).slice(0, 50).map((entry) => {
    const row = objectOf(entry);
    const who = String(row.name || row.login || 'Somebody');
    const count = Number(op === 'inbox' ? row.unread : row.count) || 0;
    const news = count > 0 ? ` (${count} new)` : '';
    return { text: `${who}${news}`, detail: cut(String(row.lastBody ?? ''), 200) };
  });
  const title = op === 'inbox' ? 'Inbox' : 'Unread';
  if (items.length === 0) return { type: 'text', title, body: 'No messages.' };
  return { type: 'list', title, items };
}

/** A refusal's sentence stands on the panel, and is the failure of the call. */
async function showRefusal(deps: AgentDeps, error: unknown): Promise<never> {
  if (error instanceof VerbError && error.code !== 'rebooted') {
    await deps.show({ type: 'text', title: 'Not answered', body: error.message });
  }
  throw error;
}

/** The outcome, or where the caller doesn't wait that long, that the panel will show it. */
function inTime(shown: Promise<Value>, ctx: VerbContext, status: string): Promise<Value> {
  // What comes later is on the panel; there is nobody left to tell.
  shown.catch(() => undefined);
  const patience = ctx
    .sleep(Math.max(0, ctx.ttlMs - MARGIN_MS))
    .then((): Value => ({ status, note: 'the panel shows the answer when it comes' }));
  patience.catch(() => undefined);
  return Promise.race([shown, patience]);
}

function cut(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, max - 1).toWellFormed()}…` : text;
}

function objectOf(value: Value | undefined): Record<string, Value> {
  return typeof value === 'object' && value !== null && isPlain(value) ? value : {};
}

function isPlain(value: object): value is Record<string, Value> {
  return !Array.isArray(value) && !(value instanceof Map) && !(value instanceof Uint8Array);
}
