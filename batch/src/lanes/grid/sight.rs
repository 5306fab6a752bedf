//! The observations of a block: each value of sixty-four instances together, then turned into rows.

use env_core::Value;
use env_core::grid::state::Direction;
use env_core::grid::{EMPTY, KindId, Observer, Source, Tables};

use super::block::{Block, Contents, Screen};
use super::plan::Plan;
use super::step::cell_in_front;
use super::turn::{Lines, WIDTH, turn};
use crate::lanes::bytes::{Bytes, LANES, each_lane, map, mask};

/// Instances whose rows are written together.
const GROUP: usize = 16;
/// Stages of a container.
const STAGES: usize = 4;

/// A value of the observations, as a block computes it. Places and containers are numbers of the plan.
#[derive(Clone, Debug, PartialEq)]
enum Reading {
    Constant(u8),
    Facing(usize, [u8; 4]),
    /// The value of the place where an agent stands; places with 0 are left out.
    Stands(usize, Vec<(usize, u8)>),
    /// The same, and 0 while something lies beside the agent in this direction.
    Clear(usize, usize, Vec<(usize, u8)>),
    Holds(usize, KindId),
    HeldNumber(usize),
    Apart {
        agent: usize,
        other: usize,
        axis: usize,
    },
    /// 1 where an agent stands at such a place, and the container beside it is in this stage.
    Beside {
        agent: usize,
        stage: usize,
        places: Vec<(usize, usize)>,
    },
    Stage(usize, usize),
    Count(usize, KindId),
    Time(usize),
    Lies(usize, KindId),
}

/// Values that stand beside each other in some places of an observation.
#[derive(Clone, Debug)]
struct Tile {
    readings: Vec<Reading>,
    /// Where the first of them stands, among the values of all seats.
    places: Vec<usize>,
}

/// The way in which blocks observe.
#[derive(Clone, Debug)]
pub(super) struct Sight {
    /// Values of all seats together.
    pub(super) len: usize,
    /// All values, and those that change but for things that lie somewhere.
    whole: Vec<Tile>,
    changing: Vec<Tile>,
    /// For each place, the kinds that may lie there, and where a value is 1 then, among those of the grid.
    things: Vec<Vec<(KindId, usize)>>,
    /// Where the values of the grid start, by seat.
    grids: Vec<usize>,
    /// Row and column of each floor place.
    floor: Vec<[u8; 2]>,
    /// The floor places in each direction of each, if there is one.
    around: Vec<[Option<usize>; 4]>,
}

impl Sight {
    /// Finds out how a block observes; `None` if it cannot.
    pub(super) fn new(observer: &Observer, tables: &Tables, plan: &Plan) -> Option<Self> {
        let sources = observer.find_sources(tables)?;
        let (row, grid) = (sources.agent.len(), sources.grid.len());
        let (seats, len) = (plan.seats, row * plan.seats + grid);
        let floor = plan.places[..plan.floors].iter();
        let floor = floor.map(|place| [place.cell / plan.cols, place.cell % plan.cols]);
        let around = (0..plan.floors).map(|place| {
            Direction::ALL.map(|direction| {
                let front = tables.cell_in_front(plan.places[place].cell.into(), direction);
                plan.place(front).filter(|&front| front < plan.floors)
            })
        });
        let mut sight = Self {
            len: seats * len,
            whole: Vec::new(),
            changing: Vec::new(),
            things: vec![Vec::new(); plan.places.len()],
            grids: (0..seats).map(|seat| seat * len + row * seats).collect(),
            floor: floor.collect(),
            around: around.collect(),
        };
        for agent in 0..seats {
            let readings = sources.agent.iter();
            let readings = readings.map(|source| plan.reading(source, agent));
            let starts = (0..seats).map(|seat| match agent {
                _ if agent == seat => seat * len,
                // The others follow the seat itself in the order of seats.
                _ => seat * len + row * (1 + agent - usize::from(agent > seat)),
            });
            sight.lay(readings.collect::<Option<_>>()?, starts.collect());
        }
        let readings = sources.grid.iter().map(|source| plan.reading(source, 0));
        let readings = readings.collect::<Option<Vec<_>>>()?;
        for (at, reading) in readings.iter().enumerate() {
            if let Reading::Lies(place, kind) = *reading {
                sight.things[place].push((kind, at));
            }
        }
        sight.lay(readings, sight.grids.clone());
        Some(sight)
    }

    /// Cuts values into tiles.
    fn lay(&mut self, readings: Vec<Reading>, starts: Vec<usize>) {
        let width = WIDTH.min(readings.len());
        let cut = |all: bool, tiles: &mut Vec<Tile>| {
            let mut next = 0;
            let is_wanted = |value: &usize| {
                all || !matches!(readings[*value], Reading::Constant(_) | Reading::Lies(..))
            };
            while let Some(here) = (next..readings.len()).find(is_wanted) {
                // The last tile begins earlier, so that it is a whole one.
                let first = here.min(readings.len() - width);
                next = first + width;
                tiles.push(Tile {
                    readings: readings[first..next].to_vec(),
                    places: starts.iter().map(|start| start + first).collect(),
                });
            }
        };
        cut(true, &mut self.whole);
        cut(false, &mut self.changing);
    }

    /// The most tiles of an observation.
    pub(super) fn tiles(&self) -> usize {
        self.whole.len()
    }
}

impl Plan {
    /// The number of the place in a cell.
    fn place(&self, cell: u16) -> Option<usize> {
        let mut places = self.places.iter();
        places.position(|place| u16::from(place.cell) == cell)
    }

    fn container(&self, cell: u16) -> Option<usize> {
        let mut pots = self.pots.iter();
        pots.position(|pot| u16::from(pot.cell) == cell)
    }

    /// The cell beside a floor place.
    fn beside(&self, place: usize, side: Direction) -> u8 {
        cell_in_front(self.cols, self.places[place].cell, side as u8)
    }

    /// Finds the numbers of a source that is about an agent, or about the grid.
    fn reading(&self, source: &Source, agent: usize) -> Option<Reading> {
        let by_place = |cells: &[i8]| {
            let floor = self.places[..self.floors].iter().enumerate();
            let values = floor.map(|(place, at)| (place, cells[usize::from(at.cell)] as u8));
            values.filter(|&(_, value)| value != 0).collect()
        };
        Some(match *source {
            Source::Constant(value) => Reading::Constant(value as u8),
            Source::Facing(values) => Reading::Facing(agent, values.map(|value| value as u8)),
            Source::Cell(ref cells) => Reading::Stands(agent, by_place(cells)),
            Source::Clear { ref cells, side } => {
                Reading::Clear(agent, side as usize, by_place(cells))
            }
            Source::Holds(kind) => Reading::Holds(agent, kind),
            Source::HeldNumber => Reading::HeldNumber(agent),
            Source::Apart { other, axis } => Reading::Apart {
                agent,
                other: other + usize::from(other >= agent),
                axis,
            },
            Source::Beside { kinds, stage, side } => {
                let pots = self.pots.iter().enumerate();
                let pots = pots.filter(|(_, pot)| kinds.has(pot.kind));
                let places = pots.flat_map(|(pot, at)| {
                    let floor = 0..self.floors;
                    let beside = floor.filter(move |&place| self.beside(place, side) == at.cell);
                    beside.map(move |place| (place, pot))
                });
                Reading::Beside {
                    agent,
                    stage,
                    places: places.collect(),
                }
            }
            Source::Stage { cell, stage } => Reading::Stage(self.container(cell)?, stage),
            Source::Count { cell, kind } => Reading::Count(self.container(cell)?, kind),
            Source::Time { cell } => Reading::Time(self.container(cell)?),
            Source::Lies { cell, kind } => Reading::Lies(self.place(cell)?, kind),
        })
    }
}

/// Facts that are computed once for a block, and the memory for its rows.
#[derive(Clone, Debug)]
pub(crate) struct Scratch<const SEATS: usize> {
    /// Where each agent stands, by floor place.
    stands: [Vec<Bytes>; SEATS],
    /// Where the floor in each direction of an agent is free.
    clear: [[Bytes; 4]; SEATS],
    /// Row and column of each agent.
    at: [[Bytes; 2]; SEATS],
    /// Where each container is in each stage.
    stages: Vec<[Bytes; STAGES]>,
    lines: Vec<Lines>,
}

impl<const SEATS: usize> Scratch<SEATS> {
    pub(super) fn new(plan: &Plan, sight: &Sight) -> Self {
        Self {
            stands: std::array::from_fn(|_| vec![Bytes::ZERO; plan.floors]),
            clear: [[Bytes::ZERO; 4]; SEATS],
            at: [[Bytes::ZERO; 2]; SEATS],
            stages: vec![[Bytes::ZERO; STAGES]; plan.pots.len()],
            lines: vec![[[0; WIDTH]; LANES]; sight.tiles()],
        }
    }

    #[inline(always)]
    fn look(&mut self, plan: &Plan, sight: &Sight, block: &Block<SEATS>) {
        for seat in 0..SEATS {
            let cells = block.cell[seat];
            let (mut row, mut col) = (Bytes::ZERO, Bytes::ZERO);
            let mut taken = [Bytes::ZERO; 4];
            for (place, stands) in self.stands[seat].iter_mut().enumerate() {
                let cell = plan.places[place].cell;
                *stands = map(|lane| mask(cells.0[lane] == cell));
                let here = *stands;
                let [place_row, place_col] = sight.floor[place];
                each_lane(|lane| row.0[lane] |= here.0[lane] & place_row);
                each_lane(|lane| col.0[lane] |= here.0[lane] & place_col);
                for (taken, front) in taken.iter_mut().zip(sight.around[place]) {
                    if let Some(front) = front {
                        let lying = &block.lying[front];
                        each_lane(|lane| {
                            taken.0[lane] |= here.0[lane] & mask(lying.0[lane] != EMPTY);
                        });
                    }
                }
            }
            self.at[seat] = [row, col];
            self.clear[seat] = taken.map(|taken| map(|lane| !taken.0[lane]));
        }
        for ((stages, pot), contents) in self.stages.iter_mut().zip(&plan.pots).zip(&block.pots) {
            *stages = find_stages(pot.capacity, contents);
        }
    }

    /// Computes a value in all lanes.
    #[inline(always)]
    fn read(&self, reading: &Reading, block: &Block<SEATS>) -> Bytes {
        match *reading {
            Reading::Constant(value) => Bytes([value; LANES]),
            Reading::Facing(agent, values) => {
                let facing = &block.facing[agent];
                let mut sum = Bytes::ZERO;
                for (direction, value) in (0..).zip(values).filter(|&(_, value)| value != 0) {
                    each_lane(|lane| sum.0[lane] |= mask(facing.0[lane] == direction) & value);
                }
                sum
            }
            Reading::Stands(agent, ref places) => self.read_stands(agent, places),
            Reading::Clear(agent, side, ref places) => {
                let (value, clear) = (self.read_stands(agent, places), &self.clear[agent][side]);
                map(|lane| value.0[lane] & clear.0[lane])
            }
            Reading::Holds(agent, kind) => {
                let held = &block.held[agent];
                map(|lane| u8::from(held.0[lane] == kind))
            }
            Reading::HeldNumber(agent) => {
                let held = &block.held[agent];
                map(|lane| held.0[lane] + u8::from(held.0[lane] > 0))
            }
            Reading::Apart { agent, other, axis } => {
                let (here, there) = (&self.at[agent][axis], &self.at[other][axis]);
                map(|lane| here.0[lane].wrapping_sub(there.0[lane]))
            }
            Reading::Beside {
                agent,
                stage,
                ref places,
            } => {
                let mut sum = Bytes::ZERO;
                for &(place, pot) in places {
                    let (stands, is_in) = (&self.stands[agent][place], &self.stages[pot][stage]);
                    each_lane(|lane| sum.0[lane] |= stands.0[lane] & is_in.0[lane] & 1);
                }
                sum
            }
            Reading::Stage(pot, stage) => {
                let is_in = &self.stages[pot][stage];
                map(|lane| is_in.0[lane] & 1)
            }
            Reading::Count(pot, kind) => {
                let pot = &block.pots[pot];
                map(|lane| mask(pot.kind.0[lane] == kind) & pot.count.0[lane])
            }
            Reading::Time(pot) => {
                let (works, timer) = (&self.stages[pot][2], &block.pots[pot].timer);
                map(|lane| (works.0[lane] & timer.0[lane]) | !works.0[lane])
            }
            Reading::Lies(place, kind) => {
                let lying = &block.lying[place];
                map(|lane| u8::from(lying.0[lane] == kind))
            }
        }
    }

    #[inline(always)]
    fn read_stands(&self, agent: usize, places: &[(usize, u8)]) -> Bytes {
        let mut sum = Bytes::ZERO;
        for &(place, value) in places {
            let stands = &self.stands[agent][place];
            each_lane(|lane| sum.0[lane] |= stands.0[lane] & value);
        }
        sum
    }
}

/// Where a container is in each stage: empty, partly filled, working, ready.
#[inline(always)]
fn find_stages(capacity: u8, contents: &Contents) -> [Bytes; STAGES] {
    let (count, timer) = (&contents.count, &contents.timer);
    let stage = |stage: u8| {
        map(|lane| {
            let (some, full) = (count.0[lane] > 0, count.0[lane] == capacity);
            let is_done = full & (timer.0[lane] == 0);
            mask(u8::from(some) + u8::from(full) + u8::from(is_done) == stage)
        })
    };
    [stage(0), stage(1), stage(2), stage(3)]
}

/// Writes the observations of a block with the widest instructions that the processor has.
///
/// Other than [`crate::lanes::wide`], it takes arguments: the compiler then knows that they do not overlap.
#[expect(
    unsafe_code,
    reason = "what a processor can do is known only while the program runs"
)]
pub(super) fn observe_wide<V: Value, const SEATS: usize>(
    plan: &Plan,
    sight: &Sight,
    block: &mut Block<SEATS>,
    is_earlier: bool,
    scratch: &mut Scratch<SEATS>,
    out: &mut [V],
) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has these instructions, as was just asked; the function is safe in all else.
        return unsafe { observe_avx2(plan, sight, block, is_earlier, scratch, out) };
    }
    observe(plan, sight, block, is_earlier, scratch, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn observe_avx2<V: Value, const SEATS: usize>(
    plan: &Plan,
    sight: &Sight,
    block: &mut Block<SEATS>,
    is_earlier: bool,
    scratch: &mut Scratch<SEATS>,
    out: &mut [V],
) {
    observe(plan, sight, block, is_earlier, scratch, out);
}

/// Writes the observations of a block, `[lane, seat, value]`: all values, or those that change.
#[inline(always)]
fn observe<V: Value, const SEATS: usize>(
    plan: &Plan,
    sight: &Sight,
    block: &mut Block<SEATS>,
    is_earlier: bool,
    scratch: &mut Scratch<SEATS>,
    out: &mut [V],
) {
    scratch.look(plan, sight, block);
    let tiles = match is_earlier {
        true => &sight.changing,
        false => &sight.whole,
    };
    for (number, tile) in tiles.iter().enumerate() {
        let mut values = [Bytes::ZERO; WIDTH];
        for (value, reading) in values.iter_mut().zip(&tile.readings) {
            *value = scratch.read(reading, block);
        }
        turn(&values, &mut scratch.lines[number]);
    }
    // A few rows at a time, so that they stay in the nearest memory while all tiles are written.
    for (group, rows) in out.chunks_mut(GROUP * sight.len).enumerate() {
        for (tile, lines) in tiles.iter().zip(&scratch.lines) {
            let lines = &lines[GROUP * group..];
            for &place in &tile.places {
                write_rows(lines, tile.readings.len(), rows, sight.len, place);
            }
        }
    }
    let screen = &mut block.screens[usize::from(size_of::<V>() == 1)];
    if is_earlier {
        for (lane, row) in out.chunks_exact_mut(sight.len).enumerate() {
            write_things(sight, &block.lying, screen, lane, row);
        }
    }
    screen.known = Bytes([1; LANES]);
    screen.lying.copy_from_slice(&block.lying);
}

/// Writes the things that lie elsewhere than before.
#[inline(always)]
fn write_things<V: Value>(
    sight: &Sight,
    lying: &[Bytes],
    screen: &Screen,
    lane: usize,
    row: &mut [V],
) {
    let is_known = screen.known.0[lane] == 1;
    let places = sight.things.iter().zip(lying).zip(&screen.lying);
    for ((things, here), before) in places {
        let here = here.0[lane];
        if is_known && here == before.0[lane] {
            continue;
        }
        for &(kind, at) in things {
            for grid in &sight.grids {
                row[grid + at] = V::flag(here == kind);
            }
        }
    }
}

/// Writes the values of a tile into rows of a length, from a place on.
#[inline(always)]
fn write_rows<V: Value>(
    lines: &[[u8; WIDTH]],
    width: usize,
    rows: &mut [V],
    len: usize,
    place: usize,
) {
    if width == WIDTH {
        for (line, row) in lines.iter().zip(rows.chunks_exact_mut(len)) {
            if let Some(here) = row[place..].first_chunk_mut::<WIDTH>() {
                write(line, here);
            }
        }
        return;
    }
    for (line, row) in lines.iter().zip(rows.chunks_exact_mut(len)) {
        write(line, &mut row[place..place + width]);
    }
}

#[inline(always)]
fn write<V: Value>(line: &[u8; WIDTH], out: &mut [V]) {
    for (out, &byte) in out.iter_mut().zip(line) {
        *out = V::whole(i32::from(byte as i8));
    }
}
