/** How a device that is called makes itself known at a hub: by the hub's URL and its owner's token. */
export interface EndpointIdentity {
  name: string;
  /** Where the hub is to call it. */
  url: string;
  secret: string;
}

/** What it can do; `snapshot` and `telemetry` are also prompts that the hub takes for it. */
export const ENDPOINT_CAPABILITIES = ['chat', 'telemetry', 'snapshot'] as const;

/**
 * The device's id there. `known` is its id of last time: it is kept where the hub still has it at
 * this URL, and replaced where the URL is another one. Rejects with the hub's own words.
 */
export async function enrolEndpoint(
  hub: { url: string; token: string },
  { name, url, secret }: EndpointIdentity,
  known?: string,
  fetchIt: typeof fetch = fetch,
): Promise<string> {
  const ask = async (method: string, body?: object): Promise<Record<string, unknown>> => {
    const response = await fetchIt(`${hub.url}/api/devices`, {
      method,
      redirect: 'manual',
      headers: {
        authorization: `Bearer ${hub.token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer = (await response.json().catch(() => ({}))) as Record<string, unknown>;
    if (response.ok && answer.ok === true) return answer;
    const why = typeof answer.error === 'string' ? answer.error : `it answered ${response.status}`;
    throw new Error(`${name} was not enrolled at ${hub.url}: ${why}`);
  };
  if (known !== undefined) {
    const { devices } = (await ask('GET')) as { devices: { id: string; url?: string }[] };
    const row = devices.find((one) => one.id === known);
    if (row?.url === url) return known;
    if (row !== undefined) await ask('DELETE', { deviceId: known });
  }
  const capabilities = ENDPOINT_CAPABILITIES;
  const platform = 'sim-endpoint';
  const made = await ask('POST', { name, kind: 'endpoint', platform, capabilities, url, secret });
  return String(made.device_id);
}
