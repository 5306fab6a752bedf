// An episode: its columns as numbers that can be looked up by tick and seat.

/** Reads what the page holds: one episode, or two. */
async function readReplays() {
  const packed = atob(document.getElementById('data').textContent.trim());
  const bytes = Uint8Array.from(packed, char => char.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Response(stream).json();
}

/** Numbers from the differences between them. */
function sums(differences) {
  let sum = 0;
  return differences.map(difference => (sum += difference));
}

/** The last entry of a sorted list whose first element is at most this. */
function lastUpTo(list, tick) {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle][0] <= tick) low = middle + 1;
    else high = middle;
  }
  return list[low - 1];
}

class Episode {
  constructor(raw) {
    Object.assign(this, raw);
    this.ticks = raw.facts.ticks;
    this.hz = Math.max(1, raw.facts.tick_hz);
    this.pictures = new Pictures(raw.table);
    this.whole = sums(raw.whole);
    this.seats = raw.seats.map(seat => this.readSeat(seat));
    this.earned = raw.seats.map((_, seat) => {
      let sum = 0;
      return raw.rewards.filter(([, who]) => who === seat).map(([step, , amount]) => [step + 1, (sum += amount)]);
    });
  }

  readSeat(raw) {
    const pictures = raw.pictures ? sums(raw.pictures) : this.whole;
    const [atMs, tick] = [sums(raw.frames.at_ms), sums(raw.frames.tick)];
    const confirmed = at => pictures[Math.min(at, this.ticks)];
    const picture = raw.frames.picture.map((number, at) => number + confirmed(tick[at]));
    const hidden = new Set(raw.frames.hidden);
    const byTick = Array.from({ length: this.ticks + 1 }, () => []);
    tick.forEach((at, frame) => byTick[Math.min(at, this.ticks)].push(frame));
    return { ...raw, confirmed: pictures, atMs, tick, picture, isHidden: frame => hidden.has(frame), byTick };
  }

  /** The frames of a seat that showed a tick; if there is none, the last one before it. */
  framesAt(seat, tick) {
    const { byTick } = this.seats[seat];
    if (byTick[tick].length) return { frames: byTick[tick], isLate: false };
    for (let before = tick - 1; before >= 0; before--) {
      if (byTick[before].length) return { frames: byTick[before].slice(-1), isLate: true };
    }
    return { frames: [], isLate: true };
  }

  /** The ticks at which a frame of a seat showed something else than was confirmed. */
  differences(seat) {
    const found = this.seats[seat];
    found.differences ??= Array.from({ length: this.ticks + 1 }, (_, tick) => tick).filter(tick =>
      found.byTick[tick].some(frame => this.pictures.differ(found.confirmed[tick], found.picture[frame])));
    return found.differences;
  }

  controllerAt(seat, tick) {
    return lastUpTo(this.seats[seat].controllers, tick)[1];
  }

  /** The action of the step after so many ticks; nothing after the end. */
  actionAt(seat, tick) {
    return tick < this.ticks ? this.actions[this.rows[tick * this.seats.length + seat]] : '';
  }

  /** What policies would have done in the next step: name, and the likeliest actions with their percentages. */
  adviceAt(seat, tick) {
    if (tick >= this.ticks) return [];
    const count = this.actions.length;
    return this.advice.map(({ name, seats }) => {
      const shares = seats[seat].slice(tick * count, (tick + 1) * count);
      const likely = shares.map((share, action) => ({ share, action: this.actions[action] })).filter(({ share }) => share >= 5);
      return { name, likely: likely.sort((one, other) => other.share - one.share).slice(0, 3) };
    });
  }

  scoreAt(tick) {
    return lastUpTo(this.scores, tick)[1];
  }

  seatScoreAt(seat, tick) {
    return lastUpTo(this.scores, tick)[2][seat];
  }

  earnedBy(seat, tick) {
    return lastUpTo(this.earned[seat], tick)?.[1] ?? 0;
  }

  /** The smoothed round trips of a seat that were known last. */
  roundTripsAt(seat, tick) {
    const known = new Map();
    for (const [at, other, ms] of this.seats[seat].round_trips) if (at <= tick) known.set(other, ms);
    return known;
  }

  seconds(tick) {
    return tick / this.hz;
  }
}
