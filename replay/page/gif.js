// GIF: every frame repaints the rectangle that differs from the frame before, and equal pictures are one frame.
// The same rules as `coplay replay --gif` has.

/** The shortest time of a frame, hundredths of a second: browsers show shorter ones for a tenth of a second. */
const GIF_LEAST = 2;
const GIF_MOST = 60_000;
/** Colours of a frame, beside the one that is transparent. */
const GIF_COLORS = 255;

/** Bytes on their way into a file. */
class ByteWriter {
  constructor() {
    Object.assign(this, { parts: [], bytes: new Uint8Array(65_536), length: 0 });
  }

  put(...values) {
    for (const value of values) this.byte(value);
  }

  byte(value) {
    if (this.length === this.bytes.length) {
      this.parts.push(this.bytes);
      Object.assign(this, { bytes: new Uint8Array(65_536), length: 0 });
    }
    this.bytes[this.length++] = value;
  }

  /** A number of two bytes. */
  word(value) {
    this.put(value & 255, value >> 8);
  }

  blob(type) {
    return new Blob([...this.parts, this.bytes.subarray(0, this.length)], { type });
  }
}

/** Compresses the numbers of colours, each of so many bits, in blocks of at most 255 bytes. */
function writeLzw(out, indexes, bits) {
  const [clear, end] = [1 << bits, (1 << bits) + 1];
  let [size, next, table] = [bits + 1, end + 1, new Map()];
  let [held, heldBits] = [0, 0];
  let block = [];
  const flush = () => {
    if (block.length) out.put(block.length, ...block);
    block = [];
  };
  const code = value => {
    held |= value << heldBits;
    heldBits += size;
    for (; heldBits >= 8; heldBits -= 8, held >>>= 8) {
      block.push(held & 255);
      if (block.length === 255) flush();
    }
  };
  out.byte(bits);
  code(clear);
  let prefix = indexes[0];
  for (let at = 1; at < indexes.length; at++) {
    const key = prefix << 8 | indexes[at];
    const known = table.get(key);
    if (known !== undefined) {
      prefix = known;
      continue;
    }
    code(prefix);
    if (next < 4096) {
      // The reader is one entry behind, so it needs the longer code one entry later.
      if (next === 1 << size) size += 1;
      table.set(key, next++);
    } else {
      code(clear);
      [size, next, table] = [bits + 1, end + 1, new Map()];
    }
    prefix = indexes[at];
  }
  code(prefix);
  if (next === 1 << size && size < 12) size += 1;
  code(end);
  if (heldBits) block.push(held & 255);
  flush();
  out.byte(0);
}

/** Chooses the colours of a frame: the most frequent ones, and for each other one the nearest of them. */
function choosePalette(counts) {
  const sorted = [...counts].sort(([, one], [, other]) => other - one);
  const own = sorted.slice(0, GIF_COLORS).map(([color]) => color);
  const indexOf = new Map(own.map((color, index) => [color, index]));
  const parts = color => [color >> 16, color >> 8 & 255, color & 255];
  const known = own.map(parts);
  for (const [color] of sorted.slice(GIF_COLORS)) {
    const [red, green, blue] = parts(color);
    let [best, least] = [0, Infinity];
    known.forEach(([r, g, b], index) => {
      const distance = (r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2;
      if (distance < least) [best, least] = [index, distance];
    });
    indexOf.set(color, best);
  }
  return { own, indexOf };
}

/** A GIF of pictures of one size, each given as the pixels of a canvas: red, green, blue and alpha. */
class GifWriter {
  constructor(width, height) {
    Object.assign(this, { width, height, frames: 0, shown: null, next: null, out: new ByteWriter() });
    this.out.put(...[...'GIF89a'].map(char => char.charCodeAt(0)));
    this.out.word(width);
    this.out.word(height);
    // No colours for all frames; and it begins again without an end.
    this.out.put(0x70, 0, 0, 0x21, 0xff, 11, ...[...'NETSCAPE2.0'].map(char => char.charCodeAt(0)), 3, 1, 0, 0, 0);
  }

  /** Adds a picture that is shown from a time on, hundredths of a second. */
  add(at, rgba) {
    const pixels = new Uint32Array(rgba.buffer.slice(rgba.byteOffset, rgba.byteOffset + rgba.byteLength));
    if (this.next && pixels.every((pixel, place) => pixel === this.next.pixels[place])) return;
    if (this.next && at - this.next.at < GIF_LEAST) {
      this.next.pixels = pixels;
      return;
    }
    if (this.next) this.writeNext(at);
    this.next = { at, pixels };
  }

  /** The file; the last picture is shown until then. */
  finish(until) {
    this.writeNext(until);
    this.out.byte(0x3b);
    return this.out.blob('image/gif');
  }

  writeNext(until) {
    const { at, pixels } = this.next;
    let left = until - at;
    let box = this.changedBox(pixels);
    for (;;) {
      const delay = Math.min(left, GIF_MOST);
      this.writeFrame(pixels, box, delay);
      left -= delay;
      this.shown = pixels;
      if (left <= 0) break;
      box = [0, 0, 0, 0];
    }
  }

  /** The rectangle that differs from what is shown: left, top, right and bottom, all of them in it. */
  changedBox(pixels) {
    const { width, height, shown } = this;
    if (!shown) return [0, 0, width - 1, height - 1];
    let [left, top, right, bottom] = [width, height, -1, -1];
    for (let place = 0; place < pixels.length; place++) {
      if (pixels[place] === shown[place]) continue;
      const [column, row] = [place % width, Math.floor(place / width)];
      left = Math.min(left, column);
      right = Math.max(right, column);
      top = Math.min(top, row);
      bottom = row;
    }
    return right < 0 ? [0, 0, 0, 0] : [left, top, right, bottom];
  }

  writeFrame(pixels, [left, top, right, bottom], delay) {
    const { width, shown, out } = this;
    const [colors, counts] = [[], new Map()];
    for (let row = top; row <= bottom; row++) {
      for (let place = row * width + left; place <= row * width + right; place++) {
        const pixel = pixels[place];
        if (shown && pixel === shown[place]) {
          colors.push(-1);
          continue;
        }
        // The bytes of a pixel lie from red on, and the least one is first.
        const color = (pixel & 255) << 16 | pixel & 0xff00 | pixel >> 16 & 255;
        colors.push(color);
        counts.set(color, (counts.get(color) ?? 0) + 1);
      }
    }
    const { own, indexOf } = choosePalette(counts);
    const transparent = own.length;
    const bits = Math.max(2, Math.ceil(Math.log2(own.length + 1)));
    // The frame stays under the next one, and one colour lets the frame before through.
    out.put(0x21, 0xf9, 4, 0x05, delay & 255, delay >> 8, transparent, 0, 0x2c);
    for (const value of [left, top, right - left + 1, bottom - top + 1]) out.word(value);
    out.byte(0x80 | bits - 1);
    for (let index = 0; index < 1 << bits; index++) {
      const color = own[index] ?? 0;
      out.put(color >> 16, color >> 8 & 255, color & 255);
    }
    writeLzw(out, colors.map(color => color < 0 ? transparent : indexOf.get(color)), bits);
    this.frames += 1;
  }
}
