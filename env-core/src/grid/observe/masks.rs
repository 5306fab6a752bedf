//! Masks: for each of some kinds, the cells in which it is.
//!
//! Planes of kinds that never come or go are part of the template; the others are cleared and drawn again.

use alloc::vec::Vec;
use core::ops::Range;

use super::agent::NONE;
use super::scene::{Facts, Scene, hand};
use super::value::Value;
use crate::grid::kind::{EMPTY, KindId};
use crate::grid::tables::{Hand, Tables};

/// How the cells of a grid lie in a plane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    /// Values of a plane.
    pub(super) size: usize,
    /// Values from one row to the next.
    pub(super) stride: usize,
}

/// Masks of some kinds.
#[derive(Clone, Debug)]
pub(super) struct Masks {
    frame: Frame,
    /// The plane of each kind or value that comes and goes.
    moving: [u8; 256],
    /// Whether what lies in a cell counts, or only what the cell is.
    lying: bool,
    /// The values to clear: planes of kinds that come and go.
    changing: Vec<Range<usize>>,
    /// Where a cell is in a plane.
    places: Vec<u16>,
    /// The kinds that never come or go by cells, eight to a word.
    ground: Vec<u64>,
    /// The values of the template that are 1.
    ones: Vec<usize>,
    /// By the rules of CoGrid: cells that show a number which may be that of any kind, and the kind that stands there.
    loud: Vec<(u16, KindId)>,
    /// The planes that do not change, and their kinds.
    still: Vec<(u8, KindId)>,
}

impl Masks {
    pub(super) fn new(
        tables: &Tables,
        facts: &Facts,
        kinds: &[KindId],
        frame: Frame,
        lying: bool,
    ) -> Self {
        let mut masks = Self {
            frame,
            moving: [NONE; 256],
            lying,
            changing: Vec::new(),
            places: Vec::new(),
            ground: Vec::new(),
            ones: Vec::new(),
            loud: Vec::new(),
            still: Vec::new(),
        };
        let used = (tables.rows - 1) * frame.stride + tables.cols;
        for (plane, &kind) in (0..).zip(kinds) {
            if facts.lasting.has(kind) {
                masks.still.push((plane, kind));
                continue;
            }
            masks.moving[usize::from(kind)] = plane;
            let start = usize::from(plane) * frame.size;
            match masks.changing.last_mut() {
                Some(last) if last.end == start => last.end = start + used,
                _ => masks.changing.push(start..start + used),
            }
        }
        masks.places = (0..tables.cells as u16)
            .map(|cell| {
                let (row, col) = tables.place(cell);
                (row * frame.stride + col) as u16
            })
            .collect();
        masks.lay(tables, facts);
        masks
    }

    /// Finds what lasts on the ground.
    fn lay(&mut self, tables: &Tables, facts: &Facts) {
        let nothing = Vec::new();
        let kinds = tables
            .ground
            .as_ref()
            .map_or(&nothing, |ground| &ground.kinds);
        let lasting = |kind: KindId| if facts.lasting.has(kind) { kind } else { EMPTY };
        let mut ground: Vec<KindId> = kinds.iter().copied().map(lasting).collect();
        ground.resize(tables.cells, EMPTY);
        self.ground = words(&ground).map(|(_, word)| word).collect();
        for (cell, &kind) in (0..).zip(&ground) {
            let still = self.still.iter().find(|&&(_, other)| other == kind);
            if let Some(&(plane, _)) = still {
                self.ones.push(self.index(plane, usize::from(cell)));
            }
            let quiet = matches!(
                hand(tables, kind),
                Hand::Floor | Hand::Surface(_) | Hand::Sink(_) | Hand::Source(_)
            ) || tables.walls.has(kind);
            if tables.is_cogrid() && self.lying && !quiet {
                self.loud.push((cell, kind));
            }
        }
    }

    #[inline]
    fn index(&self, plane: u8, cell: usize) -> usize {
        usize::from(plane) * self.frame.size + usize::from(self.places[cell])
    }

    /// Writes what never changes over zeros.
    pub(super) fn fix<V: Value>(&self, out: &mut [V]) {
        for &index in &self.ones {
            out[index] = V::ONE;
        }
    }

    /// Writes what may have changed.
    #[inline]
    pub(super) fn write<V: Value>(&self, scene: &Scene<'_>, out: &mut [V]) {
        for range in &self.changing {
            out[range.clone()].fill(V::ZERO);
        }
        for ((start, word), ground) in words(scene.kinds).zip(&self.ground) {
            marks(word ^ ground, |place| {
                self.mark(start + place, scene.kinds[start + place], out);
            });
        }
        if !self.lying {
            return;
        }
        for (start, word) in words(scene.values) {
            marks(word, |place| {
                self.mark(start + place, scene.lying(start + place), out);
            });
        }
        for &(cell, kind) in &self.loud {
            let shown = scene.values[usize::from(cell)];
            for &(plane, other) in &self.still {
                let index = self.index(plane, usize::from(cell));
                out[index] = V::flag(other == kind || other == shown);
            }
        }
    }

    /// Draws a thing that came.
    #[inline]
    fn mark<V: Value>(&self, cell: usize, kind: u8, out: &mut [V]) {
        let plane = self.moving[usize::from(kind)];
        if plane != NONE {
            out[self.index(plane, cell)] = V::ONE;
        }
    }
}

/// Bytes as words of eight, with the index of the first byte of each.
#[inline]
fn words(bytes: &[u8]) -> impl Iterator<Item = (usize, u64)> {
    bytes.chunks(8).enumerate().map(|(index, chunk)| {
        let word = match chunk.try_into() {
            Ok(whole) => u64::from_le_bytes(whole),
            Err(_) => (0..).zip(chunk).fold(0, |word, (place, &byte)| {
                word | u64::from(byte) << (8 * place)
            }),
        };
        (8 * index, word)
    })
}

/// Tells the places of the bytes in a word that are not zero.
#[inline]
fn marks(mut word: u64, mut tell: impl FnMut(usize)) {
    while word != 0 {
        let place = word.trailing_zeros() / 8;
        tell(place as usize);
        word &= !(0xff << (8 * place));
    }
}
