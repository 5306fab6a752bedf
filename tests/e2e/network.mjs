// A network of namespaces with bad links between them, made by tests/net: who can be told what stands in the way.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { ROOT, SOON, within } from './harness.mjs';

const COPLAY_NET = process.env.COPLAY_NET ?? path.join(ROOT, 'target/debug/coplay-net');

/** Why there can be no such network here; false if there can. */
export const noNetwork = (() => {
  if (process.getuid?.() !== 0) return 'network namespaces need root';
  try {
    accessSync('/dev/net/tun', constants.R_OK | constants.W_OK);
  } catch {
    return 'there is no /dev/net/tun';
  }
  if (spawnSync('ip', ['netns', 'list']).status !== 0) return 'there is no `ip` that knows namespaces (iproute2)';
  return existsSync(COPLAY_NET) ? false : `${COPLAY_NET} is not built: cargo build -p net`;
})();

/**
 * An address as bytes may tell it: in words, in network order, and as STUN disguises it.
 * Source: RFC 8489, section 14.2.
 */
export function spellings(address) {
  const binary = Buffer.from(address.split('.').map(Number));
  const cookie = [0x21, 0x12, 0xa4, 0x42];
  return { text: Buffer.from(address), binary, disguised: binary.map((byte, at) => byte ^ cookie[at]) };
}

/** A namespace, and what it takes to be in it. */
class Place {
  constructor({ name, netns, address }, folder) {
    Object.assign(this, { name, netns, address, folder, command: ['ip', 'netns', 'exec', netns] });
  }

  /**
   * A program that starts a browser in here, for those who want a path and no command.
   * Chromium is driven over a pipe; Firefox listens on a port, to which somebody outside is let in.
   */
  async wrapper(program) {
    const port = program.includes('firefox') ? await this.door() : 0;
    const file = path.join(this.folder, `${this.name}-${path.basename(program)}`);
    writeFileSync(file, `#!/bin/sh
for word; do
  shift
  [ "$word" = --remote-debugging-port=0 ] && word=--remote-debugging-port=${port}
  set -- "$@" "$word"
done
exec ${this.command.join(' ')} ${program} "$@"
`, { mode: 0o755 });
    return file;
  }

  /** A port of this machine's loopback that leads to the port of the same number in here. */
  async door() {
    const passing = `const socket = require('node:net').connect(process.argv[1], '127.0.0.1');
      process.stdin.pipe(socket).pipe(process.stdout);`;
    const server = createServer(socket => {
      const [command, ...args] = [...this.command, process.execPath, '-e', passing, String(server.address().port)];
      const inside = spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore'] });
      for (const stream of [socket, inside.stdin, inside.stdout]) stream.on('error', () => {});
      socket.pipe(inside.stdin);
      inside.stdout.pipe(socket);
      inside.once('exit', () => socket.destroy());
    });
    server.unref();
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return server.address().port;
  }
}

/** Places that reach each other only as far as they are told. */
export class Network {
  /** Makes a network of named places, such as `new Network('server', 'a', 'b')`. */
  static async start(...names) {
    const network = new Network();
    network.folder = mkdtempSync(path.join(tmpdir(), 'coplay-net-'));
    network.process = spawn(COPLAY_NET, names, { stdio: ['pipe', 'pipe', 'inherit'] });
    process.once('exit', () => network.process.kill());
    const gone = once(network.process, 'exit').then(([code]) => { throw new Error(`coplay-net ended with ${code}`); });
    gone.catch(() => {});
    const lines = createInterface({ input: network.process.stdout })[Symbol.asyncIterator]();
    network.next = () => within(SOON, 'coplay-net answers', Promise.race([lines.next(), gone]));
    for (const node of JSON.parse((await network.next()).value).nodes) {
      network[node.name] = new Place(node, network.folder);
    }
    return network;
  }

  /** Tells it a line and gives its answer; one at a time. */
  async tell(line) {
    this.process.stdin.write(`${line}\n`);
    const { value } = await this.next();
    if (value.startsWith('error')) throw new Error(value);
    return value;
  }

  /** How packets travel between two places, both ways, such as `{ delay_ms: 40, pass: 'tcp' }`; `*` is all. */
  async set(one, other, settings) {
    const words = Object.entries(settings).map(([key, value]) => `${key}=${value}`).join(' ');
    await this.tell(`set ${one} ${other} ${words}`);
    await this.tell(`set ${other} ${one} ${words}`);
  }

  /** A network as new: nothing is delayed, lost or counted. */
  async heal() {
    await this.set('*', '*', { delay_ms: 0, jitter_ms: 0, loss: 0, rate_kbit: 0, reorder: false, pass: 'all' });
    await this.tell('forget');
  }

  /** Packets that one place sent to another since `heal`. */
  async sent(from, to) {
    const flows = JSON.parse(await this.tell('flows'));
    const between = flows.filter(flow => flow.from === this[from].address && flow.to === this[to].address);
    return between.reduce((sum, flow) => sum + flow.sent, 0);
  }

  /** Keeps every packet that is sent from now on. */
  async capture() {
    this.packets = path.join(this.folder, 'packets.pcap');
    await this.tell(`capture ${this.packets}`);
  }

  /** The packets since `capture`: `bytes` from the IP header on, and the addresses that these go from and to. */
  async captured() {
    await this.tell('release');
    const file = readFileSync(this.packets);
    const packets = [];
    for (let at = 24; at < file.length;) {
      const bytes = file.subarray(at + 16, at + 16 + file.readUInt32LE(at + 8));
      packets.push({ bytes, from: [...bytes.subarray(12, 16)].join('.'), to: [...bytes.subarray(16, 20)].join('.') });
      at += 16 + bytes.length;
    }
    return packets;
  }

  /** Removes it, and whatever runs in it loses its network. */
  async stop() {
    const gone = once(this.process, 'exit');
    this.process.stdin.end();
    await gone;
    rmSync(this.folder, { recursive: true, force: true });
  }
}
