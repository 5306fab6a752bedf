//! Gliding pictures: items with an identity move from where they are shown to where they belong.
//!
//! A new picture, a correction by a rollback and a key press are one case: a new aim from the place shown now.

use std::collections::BTreeMap;

use env_core::draw::{DrawItem, DrawList};

/// No glide is shorter than this, milliseconds: a correction close to the deadline must not flash.
pub const SHORTEST_MS: f64 = 60.0;
/// Farther than this, cells, an item appears at its new place: it was put there and did not walk.
const FARTHEST: f32 = 2.5;

/// Left, top, width, height, in cells.
pub type Box4 = [f32; 4];

#[derive(Clone, Copy, Debug)]
struct Track {
    from: Box4,
    to: Box4,
    start_ms: f64,
    end_ms: f64,
}

impl Track {
    fn at(&self, now_ms: f64) -> Box4 {
        let span = (self.end_ms - self.start_ms).max(f64::MIN_POSITIVE);
        let part = ((now_ms - self.start_ms) / span).clamp(0.0, 1.0) as f32;
        std::array::from_fn(|k| self.from[k] + (self.to[k] - self.from[k]) * part)
    }
}

/// The items that are under way or at rest, by identity.
#[derive(Debug, Default)]
pub struct Tween {
    tracks: BTreeMap<u32, Track>,
}

impl Tween {
    /// Sends every item of a picture to its place, to be there at `until_ms`.
    pub fn set_target(&mut self, list: &DrawList, now_ms: f64, until_ms: f64) {
        let mut next = BTreeMap::new();
        for item in list.items.iter().filter(|item| item.id != 0) {
            next.insert(item.id, self.track(item, now_ms, until_ms));
        }
        self.tracks = next;
    }

    /// The place of an item now.
    pub fn box_at(&self, item: &DrawItem, now_ms: f64) -> Box4 {
        let track = self.tracks.get(&item.id).filter(|_| item.id != 0);
        track.map_or([item.x, item.y, item.w, item.h], |track| track.at(now_ms))
    }

    fn track(&self, item: &DrawItem, now_ms: f64, until_ms: f64) -> Track {
        let to = [item.x, item.y, item.w, item.h];
        let rest = Track {
            from: to,
            to,
            start_ms: now_ms,
            end_ms: now_ms,
        };
        let Some(&old) = self.tracks.get(&item.id) else {
            return rest;
        };
        // The same place again: the current glide continues, or it would never arrive.
        if old.to == to {
            return old;
        }
        let from = old.at(now_ms);
        let far = (from[0] - to[0]).abs().max((from[1] - to[1]).abs()) > FARTHEST;
        let end_ms = until_ms.max(now_ms + SHORTEST_MS);
        if far {
            rest
        } else {
            Track {
                from,
                to,
                start_ms: now_ms,
                end_ms,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use env_core::draw::Shape;

    use super::*;

    fn picture(x: f32) -> DrawList {
        let mut list = DrawList::default();
        list.begin(9.0, 5.0, 0xff);
        list.push(7, [x, 0.0, 1.0, 1.0], Shape::Sprite(0));
        list.push(0, [x, 2.0, 1.0, 1.0], Shape::Sprite(1));
        list
    }

    fn shown(tween: &Tween, list: &DrawList, now: f64) -> [f32; 2] {
        [
            tween.box_at(&list.items[0], now)[0],
            tween.box_at(&list.items[1], now)[0],
        ]
    }

    #[test]
    fn an_item_with_identity_glides_and_one_without_is_set_down() {
        let mut tween = Tween::default();
        tween.set_target(&picture(0.0), 0.0, 100.0);
        let next = picture(1.0);
        tween.set_target(&next, 100.0, 200.0);
        assert_eq!(shown(&tween, &next, 100.0), [0.0, 1.0]);
        assert_eq!(shown(&tween, &next, 150.0), [0.5, 1.0]);
        assert_eq!(shown(&tween, &next, 300.0), [1.0, 1.0]);
    }

    #[test]
    fn a_correction_starts_where_the_item_is_shown() {
        let mut tween = Tween::default();
        tween.set_target(&picture(0.0), 0.0, 0.0);
        tween.set_target(&picture(1.0), 100.0, 200.0);
        let back = picture(0.0);
        tween.set_target(&back, 190.0, 200.0);
        assert!((shown(&tween, &back, 190.0)[0] - 0.9).abs() < 1e-5);
        assert!(
            shown(&tween, &back, 200.0)[0] > 0.5,
            "ten milliseconds are too short to go back"
        );
        assert_eq!(shown(&tween, &back, 190.0 + SHORTEST_MS)[0], 0.0);
    }

    #[test]
    fn the_same_aim_again_does_not_slow_the_glide() {
        let mut tween = Tween::default();
        tween.set_target(&picture(0.0), 0.0, 0.0);
        let next = picture(1.0);
        tween.set_target(&next, 100.0, 200.0);
        tween.set_target(&next, 150.0, 300.0);
        assert_eq!(shown(&tween, &next, 200.0)[0], 1.0);
    }

    #[test]
    fn a_leap_is_no_glide() {
        let mut tween = Tween::default();
        tween.set_target(&picture(0.0), 0.0, 0.0);
        let far = picture(6.0);
        tween.set_target(&far, 100.0, 200.0);
        assert_eq!(shown(&tween, &far, 100.0)[0], 6.0);
    }
}
