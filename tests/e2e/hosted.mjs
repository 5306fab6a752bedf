// A study of one stage on a host, and one person in it.

import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Participant, Server, scratch } from './harness.mjs';

/** The server starts a whole Python, and JAX compiles before the first step. */
export const COMPILED = 300_000;

/**
 * Starts a server and has one person begin to play; gives both, and the bytes that the page receives. `players` and `more`
 * are of the stage, `files` are written beside the study, and `through` may give another address in front of the server's.
 */
export async function playAlone(t, browser, { env, players, more = '', files = {}, through }) {
  const folder = await scratch(t);
  const study = path.join(folder, 'study');
  await mkdir(study);
  await writeFile(path.join(study, 'study.yaml'), `format: 1
study: {id: hosted, version: 1.0.0, title: A game, contact: lab@example.edu}
timeline:
  - {id: play, type: env, env: ${env}, players: ${players}${more}}
  - {id: thanks, type: end, file: thanks.md}
`);
  await writeFile(path.join(study, 'thanks.md'), '# Thanks\n');
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(study, name), text);
  const server = await Server.start({ study, data: `${folder}/data`, args: ['--links', '1'], soon: COMPILED });
  t.after(() => server.kill());
  const link = through ? server.links[0].replace(server.url, await through(server)) : server.links[0];
  const received = { bytes: 0 };
  const count = ({ payload }) => { received.bytes += payload.length; };
  const person = await Participant.open(browser, link, {
    listen: page => page.on('websocket', socket => socket.on('framereceived', count)),
  });
  t.after(() => person.context.close());
  await person.knows(({ status }) => status === 'playing', COMPILED);
  received.bytes = 0;
  return { server, person, received };
}
