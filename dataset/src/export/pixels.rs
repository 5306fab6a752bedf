//! Pictures as observations: re-simulation draws them again. Of a world that does not repeat itself, they are those that
//! pages were shown.

use std::collections::VecDeque;

use anyhow::Context as _;
use archive::{Replica, open_past_world, replay_from};
use env_core::draw::DrawList;
use picture::{Renderer, Rgb};
use protocol::{Seat, Tick};

use super::column::row;
use super::output::Output;
use super::report::ExportReport;
use super::simulation::{EpisodeTable, Recomputed, SimulatedEpisode};
use super::table::{EpisodeKeys, Table};

/// Pixels a cell of the table of pixels.
const SCALE: u32 = 8;
/// The side of a picture in the style of Atari.
const SIDE: usize = 84;
/// Ticks from one observation in the style of Atari to the next.
const SKIP: u32 = 4;
/// The pictures in one observation in the style of Atari.
const STACK: usize = 4;

row! {
    /// One row per picture of a seat: of the first state, and of the state after each tick.
    struct PixelRow {
        /// The number of ticks before the picture, from 0: the action of tick `t` is chosen after picture `t`.
        tick: u32,
        /// The number of rows of the picture.
        height: u32,
        /// The number of pixels of a row.
        width: u32,
        /// Red, green and blue of each pixel, `[row, column, channel]`, at eight pixels a cell; hex digits in text formats.
        pixels: Vec<u8>,
    }
}

row! {
    /// One row per observation of a seat in the style of Atari: of the first state, of the state after every fourth tick,
    /// and of the last one.
    struct AtariRow {
        /// The number of ticks before the observation, from 0.
        tick: u32,
        /// The greys of the last four pictures, `[picture, row, column]`, 4 × 84 × 84, the newest one last. Each is the
        /// lighter of the last two states at every pixel. Pictures from before the first state are copies of the first
        /// picture. Hex digits in text formats.
        pixels: Vec<u8>,
    }
}

/// The table of pixels, or of pictures in the style of Atari.
pub(super) struct PixelTable {
    table: Table,
    style: Style,
    /// The art of the last environment, by its module.
    art: Option<(String, Renderer)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Pixels,
    Atari,
}

impl PixelTable {
    pub(super) fn create_pixels(output: &Output) -> anyhow::Result<Self> {
        let table = Table::create::<(EpisodeKeys<'_>, PixelRow)>(output, "pixels")?;
        Ok(Self::new(table, Style::Pixels))
    }

    pub(super) fn create_atari(output: &Output) -> anyhow::Result<Self> {
        let table = Table::create::<(EpisodeKeys<'_>, AtariRow)>(output, "atari_pixels")?;
        Ok(Self::new(table, Style::Atari))
    }

    fn new(table: Table, style: Style) -> Self {
        Self {
            table,
            style,
            art: None,
        }
    }

    /// Reads the art of an environment, unless it is the same as for the episode before.
    fn read_art(&mut self, episode: &SimulatedEpisode<'_>) -> anyhow::Result<()> {
        let header = &episode.log.header;
        let name = format!("{} {} {}", header.env, header.env_version, header.module);
        if self.art.as_ref().is_none_or(|(known, _)| *known != name) {
            let stored = archive::open_stored(&episode.data.join(archive::FOLDER));
            let (_, sprites) = open_past_world(header, &stored)?;
            let sprites = sprites.iter().map(|sprite| (&sprite.name, &sprite.svg));
            self.art = Some((name, Renderer::new(sprites)?));
        }
        Ok(())
    }

    /// Adds what the seats see of a state.
    fn add_state(
        &mut self,
        episode: &SimulatedEpisode<'_>,
        replica: &mut Replica,
        memories: &mut [AtariMemory],
    ) -> anyhow::Result<()> {
        let Tick(tick) = replica.ticks();
        let (_, renderer) = self.art.as_mut().context("the art is read before")?;
        let mut list = DrawList::default();
        for (seat, memory) in (0..).map(Seat).zip(memories) {
            let is_shown = !episode.is_only_recorded || episode.is_watched(seat, Tick(tick));
            if episode.left_out.contains(&seat) || !is_shown {
                continue;
            }
            replica.world().draw(Some(seat.index()), &mut list);
            match self.style {
                Style::Pixels => {
                    let Rgb {
                        width,
                        height,
                        pixels,
                    } = renderer.rgb(&list, SCALE)?;
                    let row = PixelRow {
                        tick,
                        height,
                        width,
                        pixels,
                    };
                    self.table.add(&(episode.keys(seat), row))?;
                }
                Style::Atari => {
                    let shorter = list.width.min(list.height).max(1.0);
                    let scale = (SIDE as f32 / shorter).ceil() as u32;
                    memory.add(tick, shrink(&renderer.rgb(&list, scale)?));
                    let is_last = Tick(tick) == episode.log.through;
                    if tick.is_multiple_of(SKIP) || is_last {
                        let pixels = memory.observe();
                        self.table
                            .add(&(episode.keys(seat), AtariRow { tick, pixels }))?;
                    }
                }
            }
        }
        Ok(())
    }
}

impl EpisodeTable for PixelTable {
    fn add_episode(
        &mut self,
        episode: &SimulatedEpisode<'_>,
        report: &mut ExportReport,
    ) -> anyhow::Result<()> {
        if !episode.has_recomputed(Recomputed::Pictures, report) {
            return Ok(());
        }
        let mut replica = episode.open_again()?;
        self.read_art(episode)
            .with_context(|| format!("the pictures of episode {}", episode.log.header.episode))?;
        let mut memories = vec![AtariMemory::default(); episode.log.count_seats()];
        self.add_state(episode, &mut replica, &mut memories)?;
        let mut added = Ok(());
        replay_from(replica, &episode.log, |_, replica| {
            if added.is_ok() {
                added = self.add_state(episode, replica, &mut memories);
            }
        })?;
        added
    }

    fn finish(self: Box<Self>, report: &mut ExportReport) -> anyhow::Result<()> {
        report.tables.push(self.table.finish()?);
        Ok(())
    }
}

/// The pictures that an observation in the style of Atari is made of.
#[derive(Clone, Debug, Default)]
struct AtariMemory {
    /// The last state and the one before.
    last: [Vec<u8>; 2],
    /// The pictures that were observed last, the newest one last.
    stack: VecDeque<Vec<u8>>,
}

impl AtariMemory {
    fn add(&mut self, tick: u32, grey: Vec<u8>) {
        self.last.swap(0, 1);
        if tick == 0 {
            self.last[0].clone_from(&grey);
        }
        self.last[1] = grey;
    }

    /// Takes the lighter of the last two states, and returns the last four such pictures.
    fn observe(&mut self) -> Vec<u8> {
        let pairs = self.last[0].iter().zip(&self.last[1]);
        let picture: Vec<u8> = pairs.map(|(one, other)| *one.max(other)).collect();
        while self.stack.len() < STACK - 1 {
            self.stack.push_back(picture.clone());
        }
        self.stack.push_back(picture);
        let pixels = self.stack.iter().flatten().copied().collect();
        self.stack.pop_front();
        pixels
    }
}

/// The greys of a picture, 84 × 84: the mean over the area of each pixel, with the weights of ITU-R BT.601.
fn shrink(picture: &Rgb) -> Vec<u8> {
    let (width, height) = (picture.width as usize, picture.height as usize);
    let grey = |row: usize, column: usize| -> u64 {
        let [r, g, b] = [0, 1, 2].map(|part| picture.pixels[(row * width + column) * 3 + part]);
        299 * u64::from(r) + 587 * u64::from(g) + 114 * u64::from(b)
    };
    // A pixel is at least as large as those of the picture: lengths are counted in parts of 84.
    let parts = |of: usize, length: usize| {
        let (from, to) = (of * length, (of + 1) * length);
        let places = from / SIDE..to.div_ceil(SIDE);
        places.map(move |at| (at, ((at + 1) * SIDE).min(to) - (at * SIDE).max(from)))
    };
    let mut greys = Vec::with_capacity(SIDE * SIDE);
    for row in 0..SIDE {
        for column in 0..SIDE {
            let sum: u64 = parts(row, height)
                .flat_map(|(y, tall)| {
                    parts(column, width).map(move |(x, wide)| grey(y, x) * (tall * wide) as u64)
                })
                .sum();
            let area = (width * height * 1_000) as u64;
            greys.push(((sum + area / 2) / area) as u8);
        }
    }
    greys
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(width: u32, height: u32, grey: impl Fn(u32, u32) -> u8) -> Rgb {
        let places = (0..height).flat_map(|row| (0..width).map(move |column| (row, column)));
        let pixels = places.flat_map(|(row, column)| [grey(row, column); 3]);
        Rgb {
            width,
            height,
            pixels: pixels.collect(),
        }
    }

    #[test]
    fn a_pixel_is_the_mean_of_its_area() {
        let halves = shrink(&picture(
            168,
            84,
            |_, column| if column < 84 { 40 } else { 200 },
        ));
        assert!(
            halves
                .iter()
                .enumerate()
                .all(|(at, grey)| *grey == if at % 84 < 42 { 40 } else { 200 })
        );
        // 126 pixels a row: the second of 84 has half of the second and all of the third.
        let stripes = shrink(&picture(
            126,
            84,
            |_, column| if column == 1 { 90 } else { 0 },
        ));
        assert_eq!(stripes[..3], [30, 30, 0]);
        let red = Rgb {
            width: 84,
            height: 84,
            pixels: [255, 0, 0].repeat(84 * 84),
        };
        assert_eq!(shrink(&red)[0], 76);
    }

    #[test]
    fn an_observation_has_the_lighter_of_two_states_four_times() {
        let mut memory = AtariMemory::default();
        memory.add(0, vec![1, 9]);
        assert_eq!(memory.observe(), [1, 9, 1, 9, 1, 9, 1, 9]);
        for (tick, grey) in [[7, 7], [7, 7], [2, 8], [5, 3]].into_iter().enumerate() {
            memory.add(tick as u32 + 1, grey.to_vec());
        }
        assert_eq!(memory.observe(), [1, 9, 1, 9, 1, 9, 5, 8]);
    }
}
