// Plays episodes in a wasm module, for `parity`.
//
// Input and output are frames: a u32 length, then so many bytes; integers are little-endian, a block is a u32
// length with its bytes. A request is an episode: params (block, JSON), seed (u64), start state (block, empty for
// the seed's own), seats (u32), steps (u32), then for each step the actions (block of u16) and the draws to inject
// (block of u32, empty for none). The answer is u32 0, then for the reset and for each step: outcome (block, empty
// for the reset), state (block), digest (u64), and for each seat the observation (block of f32) and the mask of its
// actions (u64); or u32 1 and a text.
import { readFileSync, readSync, writeSync } from "node:fs";

const { instance } = await WebAssembly.instantiate(readFileSync(process.argv[2]), {});
const abi = instance.exports;

/** Reads exactly `length` bytes; null at the end of the input. */
function read(length) {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length; ) {
    const count = readSync(0, bytes, at, length - at, null);
    if (count === 0) return null;
    at += count;
  }
  return bytes;
}

function write(bytes) {
  for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at);
}

/** Gives a message to the module and returns its length. */
function send(bytes) {
  const at = abi.coplay_inbox(bytes.length) >>> 0;
  if (at === 0) throw new Error(`the module refuses a message of ${bytes.length} bytes`);
  new Uint8Array(abi.memory.buffer, at, bytes.length).set(bytes);
  return bytes.length;
}

/** Copies the last message of the module. */
function receive(length) {
  return Buffer.from(new Uint8Array(abi.memory.buffer, abi.coplay_outbox() >>> 0, length));
}

class Request {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }
  u32() {
    this.at += 4;
    return this.bytes.readUInt32LE(this.at - 4);
  }
  i64() {
    this.at += 8;
    return this.bytes.readBigInt64LE(this.at - 8);
  }
  block() {
    const length = this.u32();
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }
}

function u32(value) {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function play(request) {
  const params = request.block();
  const seed = request.i64();
  const start = request.block();
  const seats = request.u32();
  const steps = request.u32();
  const refused = abi.coplay_open(send(params));
  if (refused < 0) throw new Error(receive(-refused).toString());
  const facts = JSON.parse(receive(abi.coplay_facts()).toString());
  const components = facts.spec.components?.length ?? 0;
  abi.coplay_reset(seed);
  if (start.length > 0 && abi.coplay_restore(send(start)) < 0) throw new Error("the module refuses the start state");
  const answer = [u32(0)];
  const block = (length) => answer.push(u32(length), receive(length));
  const show = () => {
    block(abi.coplay_state());
    const digest = Buffer.alloc(8);
    digest.writeBigInt64LE(abi.coplay_digest());
    answer.push(digest);
    for (let seat = 0; seat < seats; seat++) {
      block(abi.coplay_observe(seat));
      const mask = Buffer.alloc(8);
      mask.writeBigInt64LE(abi.coplay_mask?.(seat) ?? -1n);
      answer.push(mask);
    }
  };
  answer.push(u32(0));
  show();
  for (let step = 0; step < steps; step++) {
    const actions = request.block();
    const draws = request.block();
    if (draws.length > 0) abi.coplay_inject(send(draws) / 4);
    abi.coplay_step(send(actions) / 2);
    const events = new DataView(abi.memory.buffer).getUint32((abi.coplay_outbox() >>> 0) + 4 * seats + 8, true);
    block(4 * seats + 12 + 8 * events + 4 * seats * components);
    show();
  }
  return Buffer.concat(answer);
}

for (let length; (length = read(4)) !== null; ) {
  const request = new Request(read(length.readUInt32LE()));
  let answer;
  try {
    answer = play(request);
  } catch (error) {
    answer = Buffer.concat([u32(1), Buffer.from(error.message)]);
  }
  write(Buffer.concat([u32(answer.length), answer]));
}
