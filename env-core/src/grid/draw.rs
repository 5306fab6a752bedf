//! The picture of a grid, seen from above and a little from the front, the light from the upper left.
//!
//! Layers: floor and shadows, the things that stand on it, the things that lie on those or are in containers, then the
//! agents from back to front. Agents and the things that they hold have identities (1 to 64), so they glide; items that
//! a world draws itself have identities from 65. A world brings its pictures, and a block of colour replaces each one
//! that it leaves out.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::kind::{Kind, KindId};
use super::refusal::refuse;
use super::state::{Agent, Direction, State};
use super::tables::{Hand, Tables};
use crate::MAX_SEATS;
use crate::art::{self, AgentArt};
use crate::contract::ParamError;
use crate::draw::{DrawList, Shape, Sprite};

const BACKGROUND: u32 = 0x5c76_86ff;
const FLOOR: [u32; 2] = [0xe6d7_bfff, 0xf2e8_d8ff];
const INK: u32 = 0x1d25_2cf0;
const TRACK: u32 = 0x5663_6eff;
const GLOW: u32 = 0xffd2_57ff;
/// Names of agents, and the plates behind them.
const NAME: u32 = 0xffff_ffff;
const PLATE: u32 = 0x1d25_2cb0;
/// Identity of the plate of the first name: beyond all that worlds draw.
const NAMES: u32 = 1 << 16;
/// Agents without a picture, which have numbers as well.
///
/// Source: Okabe and Ito, "Color Universal Design", 2008: colours that differ for every eye.
const AGENTS: [u32; 8] = [
    0xd55e_00ff,
    0x0072_b2ff,
    0x009e_73ff,
    0xcc79_a7ff,
    0xe69f_00ff,
    0x56b4_e9ff,
    0xf0e4_42ff,
    0x9999_99ff,
];
/// Where things float in a container: the middle of each, cells from its corner.
const PIECES: [[f32; 2]; 8] = [
    [0.385, 0.37],
    [0.615, 0.35],
    [0.5, 0.44],
    [0.5, 0.3],
    [0.29, 0.42],
    [0.71, 0.42],
    [0.4, 0.5],
    [0.6, 0.5],
];

/// The pictures of a kind, as indexes.
#[derive(Clone, Copy, Debug, Default)]
struct Look {
    whole: Option<u16>,
    on: Option<u16>,
    front: Option<u16>,
    inside: Option<u16>,
    lit: Option<u16>,
}

/// Which picture everything has.
#[derive(Clone, Debug)]
pub struct Pictures {
    looks: Vec<Look>,
    floor: Option<[u16; 2]>,
    /// The shadows of things above, and of things to the left.
    shades: [Option<u16>; 2],
    steam: Option<u16>,
    ready: Option<u16>,
    figures: Option<AgentArt>,
}

impl Pictures {
    /// Finds the pictures of the kinds. `floor_dark`, `floor_light`, `shade_top`, `shade_left`, `steam`, `ready`
    /// and those of [`AgentArt`] are used if the world brings them.
    ///
    /// # Errors
    /// [`ParamError`] for a kind that names a picture that the world does not bring.
    pub fn new(
        tables: &Tables,
        sprites: &[Sprite],
        agents: Option<art::FigureKind>,
    ) -> Result<Self, ParamError> {
        let find = |name| art::find(sprites, name);
        let looks = tables.kinds.iter().map(|kind| look(kind, sprites));
        Ok(Self {
            looks: looks.collect::<Result<_, _>>()?,
            floor: find("floor_light").map(|light| [find("floor_dark").unwrap_or(light), light]),
            shades: [find("shade_top"), find("shade_left")],
            steam: find("steam"),
            ready: find("ready"),
            figures: figures(sprites, agents),
        })
    }

    /// Draws a state.
    pub fn draw<X>(&self, tables: &Tables, state: &State<X>, out: &mut DrawList) {
        out.begin(tables.cols as f32, tables.rows as f32, BACKGROUND);
        for cell in 0..tables.cells as u16 {
            self.ground(tables, state, cell, out);
            self.thing(tables, state, cell, out);
        }
        let mut seats: [usize; MAX_SEATS] = core::array::from_fn(|seat| seat);
        let seats = &mut seats[..tables.seats];
        seats.sort_by_key(|&seat| state.agents[seat].cell);
        for &seat in seats.iter() {
            self.agent(tables, seat, &state.agents[seat], out);
        }
        for seat in 0..tables.seats {
            if let Some(name) = tables.appearance.name(seat) {
                draw_label(seat, name, corner(tables, state.agents[seat].cell), out);
            }
        }
    }

    /// The shape of a thing of a kind: its picture, or a block of its colour.
    pub fn shape(&self, tables: &Tables, kind: KindId) -> Option<Shape> {
        let declared = tables.kind(kind)?;
        let look = self.looks[usize::from(kind) - 1];
        Some(look.whole.map_or(block(declared), Shape::Sprite))
    }

    /// Draws a cell under all things: the floor with the shadows on it, or what raises it.
    fn ground<X>(&self, tables: &Tables, state: &State<X>, cell: u16, out: &mut DrawList) {
        let place = whole(corner(tables, cell));
        let mut picture = |index: Option<u16>| {
            if let Some(index) = index {
                out.push(0, place, Shape::Sprite(index));
            }
        };
        let raised = |cell: u16| tables.kind(state.kind(cell)).is_some_and(Kind::is_raised);
        let beside =
            |direction| Some(tables.cell_in_front(cell, direction)).filter(|&other| other != cell);
        if raised(cell) {
            let look = self.looks[usize::from(state.kind(cell)) - 1];
            picture(look.on);
            if beside(Direction::Down).is_none_or(|below| !raised(below)) {
                picture(look.front);
            }
            return;
        }
        let (row, col) = tables.column_and_row(cell);
        let light = (row + col) % 2;
        match self.floor {
            Some(floor) => picture(Some(floor[light])),
            None => {
                let (radius, color) = (0.0, FLOOR[light]);
                return out.push(0, place, Shape::Rect { radius, color });
            }
        }
        for (shade, direction) in self
            .shades
            .into_iter()
            .zip([Direction::Up, Direction::Left])
        {
            if beside(direction).is_none_or(raised) {
                picture(shade);
            }
        }
    }

    /// Draws the thing in a cell and its contents.
    fn thing<X>(&self, tables: &Tables, state: &State<X>, cell: u16, out: &mut DrawList) {
        let kind = state.kind(cell);
        let Some(declared) = tables.kind(kind).filter(|kind| !kind.is_floor()) else {
            return;
        };
        let ([x, y], look) = (corner(tables, cell), self.looks[usize::from(kind) - 1]);
        let hand = tables.hands[usize::from(kind) & 63];
        let fixture = || Some(state.fixture(tables, state.fixture_in(tables, cell)?));
        let lit = match hand {
            Hand::Switch(time) => fixture().map_or(0.0, |fixture| part(fixture.timer(), time)),
            _ => 0.0,
        };
        let place = match hand {
            Hand::Loose => [x + 0.19, y + 0.16, 0.62, 0.62],
            _ => whole([x, y]),
        };
        match look.lit.filter(|_| lit > 0.0).or(look.whole) {
            Some(index) => out.push(0, place, Shape::Sprite(index)),
            None if look.on.is_none() => named(declared, place, out),
            None => {}
        }
        if lit > 0.0 {
            draw_ring(lit, [x, y], out);
        }
        match hand {
            Hand::Container(_) => self.contents(tables, state, cell, out),
            // By the rules of CoGrid the first thing delivered stays where it was delivered.
            Hand::Surface(_) | Hand::Sink(_) => {
                if let Some(shape) = self.shape(tables, state.value(tables, cell)) {
                    out.push(0, [x + 0.19, y + 0.05, 0.62, 0.62], shape);
                }
            }
            _ => {}
        }
    }

    /// Draws the contents of a container and its progress.
    fn contents<X>(&self, tables: &Tables, state: &State<X>, cell: u16, out: &mut DrawList) {
        let Some(index) = state.fixture_in(tables, cell) else {
            return;
        };
        let (fixture, [x, y]) = (state.fixture(tables, index), corner(tables, cell));
        let dish = tables.dish(fixture);
        let inside = |kind: KindId| self.looks.get(usize::from(kind).checked_sub(1)?)?.inside;
        if let Some(index) = dish.and_then(|dish| inside(dish.result)) {
            out.push(0, whole([x, y]), Shape::Sprite(index));
        }
        for (&kind, [dx, dy]) in fixture.contents().iter().zip(PIECES) {
            let small = inside(kind).map(Shape::Sprite);
            if let Some(shape) = small.or_else(|| self.shape(tables, kind)) {
                out.push(0, [x + dx - 0.1, y + dy - 0.1, 0.2, 0.2], shape);
            }
        }
        if let Some(dish) = dish.filter(|_| fixture.working()) {
            draw_ring(1.0 - part(fixture.timer(), dish.time), [x, y], out);
        }
        if fixture.ready() {
            let steam = self.steam.map(|index| ([x + 0.2, y, 0.6, 0.6], index));
            let ready = self
                .ready
                .map(|index| ([x + 0.68, y + 0.02, 0.3, 0.3], index));
            for (place, index) in steam.into_iter().chain(ready) {
                out.push(0, place, Shape::Sprite(index));
            }
            if ready.is_none() {
                draw_ring(1.0, [x, y], out);
            }
        }
    }

    /// Draws an agent and the thing that it holds.
    fn agent(&self, tables: &Tables, seat: usize, agent: &Agent, out: &mut DrawList) {
        let (corner, facing) = (corner(tables, agent.cell), agent.facing as usize);
        match &self.figures {
            Some(figures) => {
                figures.draw_as(out, seat, tables.appearance.look_of(seat), facing, corner)
            }
            None => plain(
                seat,
                tables.appearance.look_of(seat),
                agent.facing,
                corner,
                out,
            ),
        }
        if let Some(shape) = self.shape(tables, agent.held) {
            AgentArt::hold(out, seat, facing, corner, shape);
        }
    }
}

/// The pictures that a kind names.
fn look(kind: &Kind, sprites: &[Sprite]) -> Result<Look, ParamError> {
    let find = |name: &Option<String>| match name {
        None => Ok(None),
        Some(name) => match art::find(sprites, name) {
            Some(index) => Ok(Some(index)),
            None => {
                let known = sprites.iter().map(|sprite| sprite.name);
                let known = known.filter(|name| art::is_of_thing(name));
                refuse(
                    &format!("kinds.{}", kind.name),
                    super::refusal::tell_unknown("picture", name, known),
                )
            }
        },
    };
    let front = kind.on.as_ref().map(|name| format!("{name}_front"));
    Ok(Look {
        whole: find(&kind.sprite)?,
        on: find(&kind.on)?,
        front: front.and_then(|name| art::find(sprites, &name)),
        inside: find(&kind.inside)?,
        lit: find(&kind.lit)?,
    })
}

/// The figures of agents, if the world brings all their layers: of a kind, or else the first.
fn figures(sprites: &[Sprite], wanted: Option<art::FigureKind>) -> Option<AgentArt> {
    art::find(sprites, "torso_0").and(art::find(sprites, "hat_0"))?;
    let kinds = [
        ("cook_up", art::FigureKind::Cook),
        ("robot_up", art::FigureKind::Robot),
    ];
    let brought = |&&(name, kind): &&(&str, art::FigureKind)| {
        wanted.is_none_or(|wanted| wanted == kind) && art::find(sprites, name).is_some()
    };
    let &(_, kind) = kinds.iter().find(brought)?;
    Some(AgentArt::new(sprites, kind))
}

fn block(kind: &Kind) -> Shape {
    let (radius, color) = (if kind.wall { 0.0 } else { 0.12 }, kind.color);
    Shape::Rect { radius, color }
}

/// Draws a kind without a picture: a block with its symbol, so that it does not differ only in colour.
fn named(kind: &Kind, place: [f32; 4], out: &mut DrawList) {
    out.push(0, place, block(kind));
    if let Some(symbol) = kind.symbol.filter(|_| !kind.wall) {
        let [x, y, w, h] = place;
        let (text, color) = (symbol.to_string(), INK);
        let middle = [x, y + 0.25 * h, w, 0.5 * h];
        out.push(0, middle, Shape::Text { text, color });
    }
}

/// An agent without a picture: a disc with the number of the seat, and a dot where it looks.
fn plain(seat: usize, look: usize, facing: Direction, [x, y]: [f32; 2], out: &mut DrawList) {
    let id = (1 + seat) as u32;
    let layers = 2 * MAX_SEATS as u32;
    let color = AGENTS[look % AGENTS.len()];
    out.push(id, [x + 0.1, y + 0.1, 0.8, 0.8], Shape::Ellipse { color });
    let (down, right) = facing.vector();
    let dot = [
        x + 0.4 + 0.3 * right as f32,
        y + 0.4 + 0.3 * down as f32,
        0.2,
        0.2,
    ];
    out.push(id + layers, dot, Shape::Ellipse { color: INK });
    let text = Shape::Text {
        text: (1 + seat).to_string(),
        color: INK,
    };
    out.push(
        id + layers + MAX_SEATS as u32,
        [x + 0.3, y + 0.3, 0.4, 0.4],
        text,
    );
}

/// The name of an agent, at its feet and no wider than its cell.
pub(crate) fn draw_label(seat: usize, name: &str, [x, y]: [f32; 2], out: &mut DrawList) {
    let letters = name.chars().count() as f32;
    let height = if letters > 6.0 { 1.2 / letters } else { 0.2 };
    let place = [x, y + 0.98 - height, 1.0, height];
    let [left, top, width, _] = place;
    let plate = Shape::Rect {
        radius: 0.3 * height,
        color: PLATE,
    };
    let id = NAMES + 2 * seat as u32;
    let wide = 0.62 * letters * height;
    let margin = if wide < width {
        0.5 * (width - wide)
    } else {
        0.0
    };
    out.push(
        id,
        [
            left + margin,
            top - 0.02,
            width - 2.0 * margin,
            height + 0.04,
        ],
        plate,
    );
    let (text, color) = (name.into(), NAME);
    out.push(id + 1, place, Shape::Text { text, color });
}

/// A ring in the upper right of a cell.
pub(crate) fn draw_ring(part: f32, [x, y]: [f32; 2], out: &mut DrawList) {
    let place = [x + 0.67, y + 0.03, 0.3, 0.3];
    out.push(0, [x + 0.64, y, 0.36, 0.36], Shape::Ellipse { color: INK });
    for (part, color) in [(1.0, TRACK), (part, GLOW)] {
        out.push(0, place, Shape::Progress { part, color });
    }
}

fn part(timer: u8, time: u8) -> f32 {
    f32::from(timer.min(time)) / f32::from(time.max(1))
}

fn corner(tables: &Tables, cell: u16) -> [f32; 2] {
    let (row, col) = tables.column_and_row(cell);
    [col as f32, row as f32]
}

fn whole([x, y]: [f32; 2]) -> [f32; 4] {
    [x, y, 1.0, 1.0]
}
