/** JSON and event streams over connections that are kept, as the bench's owners and devices ask. */
import { Agent, type IncomingMessage, request } from 'node:http';

export class Client {
  readonly #agent: Agent;

  constructor(
    readonly url: string,
    sockets: number,
  ) {
    this.#agent = new Agent({ keepAlive: true, maxSockets: sockets });
  }

  /** The body of a 200; rejects for any other answer. */
  async ask<T>(method: string, path: string, body?: unknown, bearer?: string): Promise<T> {
    const response = await this.#send(this.#agent, method, path, body, bearer);
    const parts: Buffer[] = [];
    for await (const part of response) parts.push(part as Buffer);
    const said = Buffer.concat(parts).toString('utf8');
    if (response.statusCode !== 200) {
      throw new Error(`${method} ${path}: ${response.statusCode} ${said}`);
    }
    return JSON.parse(said) as T;
  }

  /** An event stream on a connection of its own; resolves once its first bytes came. */
  async stream(path: string, bearer: string, heard: (text: string) => void): Promise<() => void> {
    const response = await this.#send(new Agent({ maxSockets: 1 }), 'GET', path, undefined, bearer);
    response.setEncoding('utf8');
    await new Promise<void>((resolve, reject) => {
      response.once('error', reject);
      response.on('data', (text: string) => {
        resolve();
        heard(text);
      });
    });
    response.on('error', () => {});
    return () => response.destroy();
  }

  close(): void {
    this.#agent.destroy();
  }

  #send(
    agent: Agent,
    method: string,
    path: string,
    body: unknown,
    bearer?: string,
  ): Promise<IncomingMessage> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers = {
      ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
      ...(text === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
    };
    return new Promise((resolve, reject) => {
      const asked = request(`${this.url}${path}`, { method, agent, headers }, resolve);
      asked.on('error', reject);
      asked.end(text);
    });
  }
}
