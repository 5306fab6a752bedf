//! Masks: for each of some kinds, the cells in which it is.
//!
//! Planes of kinds that never come or go are part of the template; the others are cleared and drawn again.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use super::agent::NONE;
use super::scene::{Facts, Scene, hand_of, words_of};
use super::sources::{self, Source};
use crate::grid::kind::{EMPTY, KindId};
use crate::grid::tables::{Hand, Tables};
use crate::observer::Trail;
use crate::value::{Forms, Value};

/// Values between two ranges that are copied faster than left out.
const NEAR: usize = 64;

/// The arrangement of a grid's cells in a plane.
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
    /// True if things that lie in a cell count, false if only the cell's own kind counts.
    lying: bool,
    /// The values to bring back to the template: planes of kinds that come and go.
    changing: Vec<Range<usize>>,
    /// The place of each cell in a plane.
    places: Vec<u16>,
    /// The values that never change, over zeros.
    template: Forms,
    /// By the rules of CoGrid: cells that show a number which may be any kind's, and the kind that stands there.
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
            template: Forms::default(),
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
                Some(last) if start - last.end <= NEAR => last.end = start + used,
                _ => masks.changing.push(start..start + used),
            }
        }
        masks.places = (0..tables.cells as u16)
            .map(|cell| {
                let (row, col) = tables.column_and_row(cell);
                (row * frame.stride + col) as u16
            })
            .collect();
        masks.lay(tables, facts, kinds.len());
        masks
    }

    /// Finds what lasts on the ground.
    fn lay(&mut self, tables: &Tables, facts: &Facts, planes: usize) {
        let mut template = vec![0; planes * self.frame.size];
        for (cell, &kind) in (0..).zip(&facts.ground) {
            let still = self.still.iter().find(|&&(_, other)| other == kind);
            if let Some(&(plane, _)) = still {
                template[self.index(plane, usize::from(cell))] = 1;
            }
            let quiet = matches!(
                hand_of(tables, kind),
                Hand::Floor | Hand::Surface(_) | Hand::Sink(_) | Hand::Source(_)
            ) || tables.walls.has(kind);
            if tables.is_cogrid() && self.lying && !quiet {
                self.loud.push((cell, kind));
            }
        }
        self.template = Forms::new(template);
    }

    #[inline]
    fn index(&self, plane: u8, cell: usize) -> usize {
        usize::from(plane) * self.frame.size + usize::from(self.places[cell])
    }

    /// Writes what never changes.
    pub(super) fn fix<V: Value>(&self, out: &mut [V]) {
        out.copy_from_slice(V::of(&self.template));
    }

    /// The sources of [`Self::write`], over the template.
    pub(super) fn find_sources(&self, facts: &Facts, out: &mut [Source]) {
        for (cell, ground) in sources::places(facts) {
            if ground != EMPTY && !self.lying {
                continue;
            }
            for (kind, &plane) in (0..=KindId::MAX).zip(&self.moving) {
                if plane != NONE {
                    out[self.index(plane, usize::from(cell))] = Source::Lies { cell, kind };
                }
            }
        }
    }

    /// The values that [`Self::write`] writes, if they are no more than these.
    pub(super) fn shared(&self) -> Option<&[Range<usize>]> {
        self.loud.is_empty().then_some(&self.changing)
    }

    /// Writes what may have changed.
    #[inline(never)]
    pub(super) fn write<V: Value>(&self, scene: &Scene<'_>, out: &mut [V]) {
        let template = V::of(&self.template);
        for range in &self.changing {
            out[range.clone()].copy_from_slice(&template[range.clone()]);
        }
        self.draw(scene, |place| out[place] = V::ONE);
        self.draw_loud(scene, out);
    }

    /// Writes over the template what came, at each of these starts, and notes it in a trail.
    #[inline(never)]
    pub(super) fn write_all<V: Value>(
        &self,
        scene: &Scene<'_>,
        starts: impl Iterator<Item = usize> + Clone,
        trail: &mut Trail<V>,
        out: &mut [V],
    ) {
        self.draw(scene, |place| {
            for place in starts.clone().map(|start| start + place) {
                trail.note(place, out[place]);
                out[place] = V::ONE;
            }
        });
        for start in starts {
            self.draw_loud(scene, &mut out[start..]);
        }
    }

    /// Calls with the place of each thing that came.
    #[inline]
    fn draw(&self, scene: &Scene<'_>, mut put: impl FnMut(usize)) {
        let mut mark = |cell: usize, kind: u8| {
            let plane = self.moving[usize::from(kind)];
            if plane != NONE {
                put(self.index(plane, cell));
            }
        };
        if scene.littered {
            scene.list_litter(|start, word| {
                marks(word, |place| {
                    mark(start + place, scene.kinds[start + place])
                });
            });
        }
        if self.lying {
            words_of(scene.values, |start, word| {
                marks(word, |place| {
                    mark(start + place, scene.kind_lying_on(start + place))
                });
            });
        }
    }

    /// By the rules of CoGrid: writes the planes that do not change, where a cell shows a number.
    #[inline]
    fn draw_loud<V: Value>(&self, scene: &Scene<'_>, out: &mut [V]) {
        for &(cell, kind) in &self.loud {
            let shown = scene.values[usize::from(cell)];
            for &(plane, other) in &self.still {
                let index = self.index(plane, usize::from(cell));
                out[index] = V::flag(other == kind || other == shown);
            }
        }
    }
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
