/** The statements of the messages between owners. */
import { query, tables } from './db/query.js';

export const idsNamed = query<{ name: string; bare: string }>()((p) =>
  tables
    .selectFrom('owners')
    .where((eb) => eb.or([eb('name', '=', p.name), eb('name', '=', p.bare)]))
    .orderBy('id')
    .select(['id', 'name']),
);
export const sentSince = query<{ owner: string; after: number }>()((p) =>
  tables
    .selectFrom('messages')
    .where('sender_id', '=', p.owner)
    .where('created_ms', '>', p.after)
    .select((eb) => eb.fn.countAll<number>().as('n')),
);
export const insertMessage = query<{
  from: string;
  to: string;
  body: string;
  attachments: string;
  via: string | null;
  ms: number;
}>()((p) =>
  tables
    .insertInto('messages')
    .values({
      sender_id: p.from,
      recipient_id: p.to,
      body: p.body,
      attachments: p.attachments,
      via: p.via,
      created_ms: p.ms,
      read_ms: null,
    })
    .returning('id'),
);
export const unreadFrom = query<{ owner: string }>()((p) =>
  tables
    .selectFrom('messages')
    .innerJoin('owners', 'owners.id', 'messages.sender_id')
    .where('messages.recipient_id', '=', p.owner)
    .where('messages.read_ms', 'is', null)
    .groupBy('owners.id')
    .select((eb) => ['owners.id', 'owners.name', eb.fn.countAll<number>().as('n')])
    .orderBy('n', 'desc')
    .orderBy('owners.name'),
);
/** The last message of each thread. */
export const lastOfThreads = query<{ owner: string; limit: number }>()((p) =>
  tables
    .with('mine', (db) =>
      db
        .selectFrom('messages')
        .where('sender_id', '=', p.owner)
        .select(['recipient_id as peer', 'id'])
        .unionAll(
          db
            .selectFrom('messages')
            .where('recipient_id', '=', p.owner)
            .select(['sender_id as peer', 'id']),
        ),
    )
    .with('last', (db) =>
      db
        .selectFrom('mine')
        .groupBy('peer')
        .select((eb) => ['peer', eb.fn.max('id').as('id')]),
    )
    .selectFrom('last')
    .innerJoin('messages', 'messages.id', 'last.id')
    .innerJoin('owners', 'owners.id', 'last.peer')
    .orderBy('messages.id', 'desc')
    .limit(p.limit)
    .select([
      'last.peer',
      'owners.name',
      'messages.body',
      'messages.attachments',
      'messages.created_ms',
    ]),
);
export const inThread = query<{ owner: string; peer: string; limit: number }>()((p) =>
  tables
    .selectFrom('messages')
    .where((eb) =>
      eb.or([
        eb.and([eb('sender_id', '=', p.owner), eb('recipient_id', '=', p.peer)]),
        eb.and([eb('sender_id', '=', p.peer), eb('recipient_id', '=', p.owner)]),
      ]),
    )
    .orderBy('id', 'desc')
    .limit(p.limit)
    .selectAll(),
);
export const markRead = query<{ owner: string; peer: string; ms: number }>()((p) =>
  tables
    .updateTable('messages')
    .set({ read_ms: p.ms })
    .where('recipient_id', '=', p.owner)
    .where('sender_id', '=', p.peer)
    .where('read_ms', 'is', null),
);
