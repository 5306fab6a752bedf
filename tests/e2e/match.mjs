// A whole study, played by two headless browsers, and its results: used by the demo and by the tests.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { Participant, coplay, launch, reachable, say } from './harness.mjs';

/**
 * Plays a study from the first page to the last with two participants.
 * `network` is `{ latency_ms, loss }`, on the first participant's side; `opened` is given both participants. Gives each
 * page's report, with the `datagrams` that came to it from the other page without the server.
 */
export async function match({ server, network, opened }) {
  const browser = await launch();
  try {
    const people = [
      await Participant.open(browser, server.links[0], { name: 'page 0', network, before: reachable }),
      await Participant.open(browser, server.links[1], { name: 'page 1', before: reachable }),
    ];
    say('two pages are open');
    opened?.(people);
    const reports = await Promise.all(people.map(async person => {
      const report = await person.takePart();
      return { ...report, datagrams: await person.page.evaluate(() => window.datagrams) };
    }));
    say('both have played, answered, and are on the last page');
    return reports;
  } finally {
    await browser.close();
  }
}

/** Re-simulates what the server stored: one object for each episode. */
export async function verified(data) {
  const { code, stdout, stderr } = await coplay('verify', '--data', data, '--json');
  if (!stdout.trim()) throw new Error(`coplay verify ended with ${code} and no result: ${stderr}`);
  return { code, episodes: JSON.parse(stdout).episodes };
}

/** The tables of an export, such as `steps`, as lists of rows; no value of theirs holds a new line. */
export async function exported(data, names = ['steps', 'keys', 'events', 'presence', 'seats', 'seen']) {
  const out = path.join(data, 'tables');
  const { code, stderr } = await coplay('export', '--data', data, '--out', out, '--seen');
  assert.equal(code, 0, stderr);
  const tables = await Promise.all(names.map(async name => {
    const [columns, ...rows] = (await readFile(path.join(out, `${name}.csv`), 'utf8')).trimEnd().split('\n').map(cells);
    return [name, rows.map(row => Object.fromEntries(columns.map((column, at) => [column, row[at]])))];
  }));
  return Object.fromEntries(tables);
}

/** The cells of a line of a table; those with a comma or a quote are quoted. */
const cells = line => Array.from(line.matchAll(/(?<=^|,)(?:"((?:[^"]|"")*)"|([^,]*))(?=,|$)/g), ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain);

/** The figures of a match, from both pages' reports and from the re-simulated episode. */
export function figures(reports, episode) {
  const most = key => Math.max(...reports.map(report => report[key]));
  return {
    ticks: episode.ticks,
    deliveries: episode.events.delivery ?? 0,
    rollbacks: reports.reduce((sum, report) => sum + report.rollbacks, 0),
    max_rollback_depth: most('max_rollback_depth'),
    rtt_ms: most('rtt_ms'),
    digests: { peer_0: bySeat(reports, 0).digest, peer_1: bySeat(reports, 1).digest, replica: episode.digest },
    episode_path: episode.path,
  };
}

/** Whether both peers and the replica ended in the same state. */
export const equal = digests => new Set(Object.values(digests)).size === 1;

const bySeat = (reports, seat) => reports.find(report => report.seat === seat);
