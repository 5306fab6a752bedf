//! Many pictures in little room: every item is stored once, and a picture has its differences from another one.
//!
//! A picture is found by going back over at most [`DEPTH`] others.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use env_core::draw::{DrawItem, DrawList, Shape};
use serde::{Serialize, Serializer};

/// The most pictures that are read to find one.
const DEPTH: u32 = 64;

/// All pictures of an episode.
#[derive(Debug, Default, Serialize)]
pub(crate) struct PictureTable {
    /// Width and height in cells, and the background `0xRRGGBBAA`.
    sizes: Vec<(f32, f32, u32)>,
    items: Vec<ShownItem>,
    /// Each picture: its size, how many pictures before it its base is (0 for none), how many items at the start and at
    /// the end are those of the base, and the items in between.
    pictures: Vec<Vec<u32>>,
    #[serde(skip)]
    known: BTreeMap<Vec<u8>, u32>,
}

/// The pictures of one view, each mostly like the one before.
#[derive(Debug, Default)]
pub(crate) struct PictureStream {
    list: DrawList,
    items: Vec<u32>,
    /// The number of the last picture; `None` before the first.
    pub(crate) last: Option<u32>,
    depth: u32,
}

impl PictureStream {
    /// True if this is the last picture again.
    pub(crate) fn is_shown(&self, list: &DrawList) -> bool {
        self.last.is_some() && self.list == *list
    }
}

impl PictureTable {
    /// Adds the next picture of a stream, and returns its number.
    pub(crate) fn add_picture(&mut self, stream: &mut PictureStream, list: &DrawList) -> u32 {
        if let Some(last) = stream.last.filter(|_| stream.list == *list) {
            return last;
        }
        let number = self.pictures.len() as u32;
        let size = self.size(list);
        let base = stream.last.filter(|_| stream.depth + 1 < DEPTH);
        let old = base.map_or(&[][..], |_| &stream.list.items);
        let same = |(one, other): &(&DrawItem, &DrawItem)| one == other;
        let start = old.iter().zip(&list.items).take_while(same).count();
        let rest = old.len().min(list.items.len()) - start;
        let ends = old.iter().rev().zip(list.items.iter().rev());
        let end = ends.take(rest).take_while(same).count();
        let between = &list.items[start..list.items.len() - end];
        let between: Vec<u32> = between.iter().map(|item| self.item(item)).collect();

        let back = base.map_or(0, |base| number - base);
        let mut picture = vec![size, back, start as u32, end as u32];
        picture.extend(&between);
        self.pictures.push(picture);
        let replaced = match base {
            Some(_) => start..stream.items.len() - end,
            None => 0..stream.items.len(),
        };
        stream.items.splice(replaced, between);
        stream.list.clone_from(list);
        stream.depth = base.map_or(0, |_| stream.depth + 1);
        stream.last = Some(number);
        number
    }

    /// The sprites that are shown, by their index.
    pub(crate) fn sprites(&self) -> impl Iterator<Item = u16> {
        self.items.iter().filter_map(|item| match item.0.shape {
            Shape::Sprite(index) => Some(index),
            _ => None,
        })
    }

    fn size(&mut self, list: &DrawList) -> u32 {
        let size = (list.width, list.height, list.background);
        let known = self.sizes.iter().position(|known| *known == size);
        known.unwrap_or_else(|| {
            self.sizes.push(size);
            self.sizes.len() - 1
        }) as u32
    }

    fn item(&mut self, item: &DrawItem) -> u32 {
        let key = postcard::to_allocvec(item).expect("plain data serialises into memory");
        *self.known.entry(key).or_insert_with(|| {
            self.items.push(ShownItem(item.clone()));
            self.items.len() as u32 - 1
        })
    }

    /// The items of a picture.
    #[cfg(test)]
    fn read(&self, number: u32) -> Vec<DrawItem> {
        let [_, back, start, end, between @ ..] = &self.pictures[number as usize][..] else {
            panic!("a picture has four numbers at least");
        };
        let base = match back {
            0 => Vec::new(),
            back => self.read(number - back),
        };
        let mut items = base[..*start as usize].to_vec();
        items.extend(between.iter().map(|at| self.items[*at as usize].0.clone()));
        items.extend_from_slice(&base[base.len() - *end as usize..]);
        items
    }
}

/// Each number less the one before.
pub(crate) fn encode_differences(numbers: &[u32]) -> Vec<i64> {
    let before = std::iter::once(0).chain(numbers.iter().copied());
    let pairs = numbers.iter().zip(before);
    pairs
        .map(|(now, before)| i64::from(*now) - i64::from(before))
        .collect()
}

/// An item as a list: identity, left, top, width, height, and its shape with a letter in front.
#[derive(Debug)]
struct ShownItem(DrawItem);

impl Serialize for ShownItem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let DrawItem {
            id,
            x,
            y,
            w,
            h,
            shape,
        } = &self.0;
        let place = (id, x, y, w, h);
        match shape {
            Shape::Sprite(index) => (place, "s", index).serialize(serializer),
            Shape::Rect { radius, color } => (place, "r", radius, color).serialize(serializer),
            Shape::Ellipse { color } => (place, "e", color).serialize(serializer),
            Shape::Progress { part, color } => (place, "p", part, color).serialize(serializer),
            Shape::Text { text, color } => (place, "t", text, color).serialize(serializer),
            Shape::Pixels { width, height, rgb } => {
                (place, "x", width, height, BASE64_STANDARD.encode(rgb)).serialize(serializer)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(places: &[f32]) -> DrawList {
        let mut list = DrawList::default();
        list.begin(5.0, 4.0, 0xff);
        for (id, x) in (1..).zip(places) {
            list.push(id, [*x, 0.0, 1.0, 1.0], Shape::Sprite(id as u16));
        }
        list
    }

    #[test]
    fn every_picture_is_read_as_it_was_added() {
        let (mut table, mut stream) = (PictureTable::default(), PictureStream::default());
        let lists: Vec<DrawList> = (0..200)
            .map(|tick: u16| {
                let x = f32::from(tick % 7);
                match tick % 3 {
                    0 => list(&[0.0, x, 2.0]),
                    1 => list(&[0.0, 2.0]),
                    _ => list(&[0.0, 1.0, x, 2.0, x]),
                }
            })
            .collect();
        let numbers: Vec<u32> = lists
            .iter()
            .map(|list| table.add_picture(&mut stream, list))
            .collect();
        for (list, number) in lists.iter().zip(&numbers) {
            assert_eq!(table.read(*number), list.items);
        }
        assert_eq!(table.add_picture(&mut stream, &lists[199]), numbers[199]);
        assert!(table.items.len() < 40, "items are there once");
    }

    #[test]
    fn a_picture_is_few_steps_from_a_whole_one() {
        let (mut table, mut stream) = (PictureTable::default(), PictureStream::default());
        for tick in 0..500_u16 {
            table.add_picture(&mut stream, &list(&[f32::from(tick)]));
        }
        let mut depth = vec![0_u32];
        for picture in &table.pictures[1..] {
            let base = depth.len() - picture[1] as usize;
            depth.push(if picture[1] == 0 { 0 } else { depth[base] + 1 });
        }
        assert_eq!(depth.iter().max(), Some(&(DEPTH - 1)));
    }
}
