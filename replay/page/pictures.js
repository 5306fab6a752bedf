// Pictures: read from the table of an episode, compared, and painted as participants saw them.

/** The pictures of an episode, read when they are asked for. */
class Pictures {
  /** Pictures that are kept read. */
  static KEPT = 2048;

  constructor({ sizes, items, pictures }) {
    Object.assign(this, { sizes, all: items, pictures });
    this.read = new Map();
  }

  /** The numbers of a picture's items, back to front. */
  items(number) {
    const chain = [];
    let at = number;
    while (!this.read.has(at) && chain.length < this.pictures.length) {
      chain.push(at);
      const back = this.pictures[at][1];
      if (!back) break;
      at -= back;
    }
    if (this.read.size > Pictures.KEPT) {
      const kept = this.read.get(at);
      this.read.clear();
      if (kept) this.read.set(at, kept);
    }
    for (const next of chain.reverse()) {
      const [, back, start, end, ...between] = this.pictures[next];
      const base = back ? this.read.get(next - back) : [];
      this.read.set(next, [...base.slice(0, start), ...between, ...base.slice(base.length - end)]);
    }
    return this.read.get(number);
  }

  /** Width and height in cells, and the background. */
  size(number) {
    return this.sizes[this.pictures[number][0]];
  }

  /** The items that one picture has and the other has not, both ways. */
  differences(one, other) {
    if (one === other) return [[], []];
    const count = new Map();
    for (const item of this.items(one)) count.set(item, (count.get(item) ?? 0) + 1);
    const added = this.items(other).filter(item => {
      const left = count.get(item) ?? 0;
      if (left) count.set(item, left - 1);
      return !left;
    });
    return [[...count].filter(([, left]) => left).map(([item]) => item), added];
  }

  /** True if two pictures differ in what they show. */
  differ(one, other) {
    const [missing, added] = this.differences(one, other);
    return missing.length + added.length > 0;
  }
}

/** Loads sprites; those that are never shown are empty. */
const loadSprites = documents => Promise.all(documents.map(async svg => {
  if (!svg) return null;
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([withSize(svg)], { type: 'image/svg+xml' }));
  await image.decode().catch(() => {});
  return image.naturalWidth ? image : null;
}));

/** The document with a size of its own: some browsers paint nothing without one. */
function withSize(svg) {
  const head = /<svg\b[^>]*>/.exec(svg)?.[0];
  if (!head || / width=/.test(head)) return svg;
  const box = /viewBox=["'][^"']*?([\d.]+)[ ,]+([\d.]+)["']/.exec(head);
  return svg.replace('<svg', `<svg width="${box?.[1] ?? 64}" height="${box?.[2] ?? 64}"`);
}

const color = rgba => `#${(rgba >>> 0).toString(16).padStart(8, '0')}`;

/** Paints pictures of an episode on a canvas. */
class Painter {
  constructor(canvas, pictures, sprites) {
    Object.assign(this, { canvas, pictures, sprites, context: canvas.getContext('2d'), rasters: new Map() });
  }

  /** Paints a picture, an arrow at the item of a seat, and frames around items that differ. */
  paint(number, { own = 0, marked = [], dashed = false, mark = '#c2187a' } = {}) {
    const { canvas, context } = this;
    const [width, height, background] = this.pictures.size(number);
    if (!(width > 0 && height > 0)) return;
    const ratio = window.devicePixelRatio || 1;
    // Whole pixels a cell, so that neighbouring tiles meet; a video says how many.
    const scale = this.pixelsACell ?? Math.max(1, Math.floor(this.fittingScale(width, height) * ratio));
    this.fit(Math.round(width * scale), Math.round(height * scale), ratio);
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.fillStyle = color(background);
    context.fillRect(0, 0, canvas.width, canvas.height);
    const place = ([, ...box]) => box.map(cells => cells * scale);
    const items = this.pictures.items(number).map(item => this.pictures.all[item]);
    for (const item of items) this.paintItem(item, place(item[0]), scale);
    const mine = own && items.find(([[id]]) => id === own);
    if (mine) this.pointAt(place(mine[0]), scale * .11);
    context.lineWidth = Math.max(2, scale * .06);
    context.strokeStyle = mark;
    context.setLineDash(dashed ? [scale * .12, scale * .08] : []);
    for (const item of marked) {
      const [x, y, w, h] = place(this.pictures.all[item][0]);
      context.strokeRect(x, y, w, h);
    }
    context.setLineDash([]);
  }

  /** The pixels of a cell at which a picture fits into its room. */
  fittingScale(width, height) {
    return Math.min(this.canvas.parentElement.clientWidth / width, (this.maxHeight?.() ?? Infinity) / height);
  }

  fit(width, height, ratio) {
    const { canvas } = this;
    if (canvas.width === width && canvas.height === height) return;
    Object.assign(canvas, { width, height });
    Object.assign(canvas.style, { width: `${width / ratio}px`, height: `${height / ratio}px` });
    this.rasters.clear();
  }

  paintItem([[, , , width], kind, ...shape], [x, y, w, h], scale) {
    const { context } = this;
    context.beginPath();
    if (kind === 's') {
      this.paintSprite(shape[0], x, y, w, h);
    } else if (kind === 'r') {
      context.roundRect(x, y, w, h, width > 0 ? Math.min(shape[0] * scale, w / 2, h / 2) : 0);
      context.fillStyle = color(shape[1]);
      context.fill();
    } else if (kind === 'e') {
      context.ellipse(x + w / 2, y + h / 2, w / 2, h / 2, 0, 0, 2 * Math.PI);
      context.fillStyle = color(shape[0]);
      context.fill();
    } else if (kind === 'p') {
      const line = Math.min(w, h) * .16;
      const part = Math.min(1, Math.max(0, shape[0])) * 2 * Math.PI;
      context.arc(x + w / 2, y + h / 2, Math.max(0, (Math.min(w, h) - line) / 2), -Math.PI / 2, part - Math.PI / 2);
      context.lineWidth = line;
      context.strokeStyle = color(shape[1]);
      context.stroke();
    } else if (kind === 't') {
      context.font = `600 ${h}px system-ui, sans-serif`;
      context.textAlign = 'center';
      context.textBaseline = 'middle';
      context.fillStyle = color(shape[1]);
      context.fillText(shape[0], x + w / 2, y + h / 2);
    } else if (kind === 'x') {
      this.paintPixels(shape, x, y, w, h);
    }
  }

  paintSprite(index, x, y, w, h) {
    const [width, height] = [Math.round(w), Math.round(h)];
    const image = this.sprites[index];
    if (!image || width < 1 || height < 1) {
      this.context.roundRect(x, y, w, h, w / 6);
      this.context.fillStyle = '#9995';
      this.context.fill();
      return;
    }
    const key = `${index} ${width} ${height}`;
    if (!this.rasters.has(key)) {
      const raster = Object.assign(document.createElement('canvas'), { width, height });
      raster.getContext('2d').drawImage(image, 0, 0, width, height);
      this.rasters.set(key, raster);
    }
    this.context.drawImage(this.rasters.get(key), Math.round(x), Math.round(y));
  }

  paintPixels([width, height, base64], x, y, w, h) {
    const rgb = atob(base64);
    const pixels = new ImageData(width, height);
    for (let at = 0, from = 0; from < rgb.length; at += 4, from += 3) {
      for (let channel = 0; channel < 3; channel++) pixels.data[at + channel] = rgb.charCodeAt(from + channel);
      pixels.data[at + 3] = 255;
    }
    const raster = Object.assign(document.createElement('canvas'), { width, height });
    raster.getContext('2d').putImageData(pixels, 0, 0);
    this.context.imageSmoothingEnabled = false;
    this.context.drawImage(raster, x, y, w, h);
    this.context.imageSmoothingEnabled = true;
  }

  /** An arrow with its tip on top of a box: this is the seat. */
  pointAt([x, y, w], size) {
    const { context } = this;
    const middle = x + w / 2;
    context.beginPath();
    context.moveTo(middle - size, y - size * 1.2);
    context.lineTo(middle + size, y - size * 1.2);
    context.lineTo(middle, y);
    context.closePath();
    context.lineJoin = 'round';
    context.lineWidth = size * .6;
    context.strokeStyle = '#1d2731';
    context.stroke();
    context.fillStyle = '#ffd257';
    context.fill();
  }
}
export { Painter, Pictures, loadSprites };
