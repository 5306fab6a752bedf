//! A world that somebody else steps, as one seat is shown it: made by [`SeatViewer`] where the world is stepped, read by
//! [`ViewWorld`] where it is only shown. A view holds what the seat may see, and nothing else of the state.
//!
//! Each view tells what has changed since the one before. Pixels travel as changed tiles, deflated, without loss.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::contract::{Action, ParamError, Spec, StateError, StepOutcome, World};
use crate::draw::{DrawList, Shape};
use crate::envs::{self, NativeEnvironment, Visitor};
use crate::guest::Sprite;

/// Edge of a tile, pixels.
const TILE: usize = 16;
/// The most pixels of a raster.
const MAX_PIXELS: usize = 1 << 22;
/// The most bytes of pixels in one view; tiles for which there is no room follow with the next views.
const MAX_BYTES: usize = 192 << 10;
/// Level of compression: the fastest that still finds what repeats.
const LEVEL: u8 = 1;

/// The facts that a page needs to show a world that somebody else steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ViewFacts {
    /// Actions, seats and pace.
    pub spec: Spec,
    /// The pictures that views name.
    pub sprites: Vec<Sprite>,
}

impl ViewFacts {
    /// The facts of an environment of this program.
    ///
    /// # Errors
    /// [`ParamError`] with the field that is wrong.
    pub fn of_native(id: &str, params: &str) -> Result<Self, ParamError> {
        envs::visit(id, params, AskFacts)
    }

    /// The facts of a world with these pictures. The page has no world that could say what a point means.
    pub fn new(spec: &Spec, sprites: Vec<Sprite>) -> Self {
        let spec = Spec {
            pointer: false,
            ..spec.clone()
        };
        Self { spec, sprites }
    }

    /// The facts as pages get them: JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("facts are plain data")
    }
}

/// Asks an environment of this program for what pages need.
struct AskFacts;

impl Visitor for AskFacts {
    type Output = ViewFacts;

    fn visit<E: NativeEnvironment>(self, env: E) -> ViewFacts {
        let sprite = |sprite: &crate::draw::Sprite| Sprite {
            name: sprite.name.into(),
            svg: sprite.svg.into(),
        };
        ViewFacts::new(&env.spec(), E::sprites().iter().map(sprite).collect())
    }
}

/// The view that one seat has of a state, as far as it has changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct SeatView {
    /// True if nothing was told before.
    is_first: bool,
    score: i64,
    seat_scores: Vec<i64>,
    acting: u16,
    mask: u64,
    /// The picture, its rasters empty; none if it is as before.
    picture: Option<DrawList>,
    patches: Vec<Patch>,
    words: Option<String>,
}

/// The changed tiles of a raster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Patch {
    /// The raster, by its place among those of the picture.
    raster: u16,
    /// Indices of the tiles, row by row, each as its distance from the one before.
    tiles: Vec<u16>,
    /// The pixels of all of them, row by row, deflated.
    deflated: Vec<u8>,
}

/// Pixels of a picture: red, green and blue, row by row.
#[derive(Clone, Debug, Default, PartialEq)]
struct Raster {
    width: usize,
    height: usize,
    rgb: Vec<u8>,
}

impl Raster {
    fn blank(width: u16, height: u16) -> Option<Self> {
        let (width, height) = (usize::from(width), usize::from(height));
        (width * height <= MAX_PIXELS).then(|| Self {
            width,
            height,
            rgb: vec![0; width * height * 3],
        })
    }

    fn columns(&self) -> usize {
        self.width.div_ceil(TILE)
    }

    fn tiles(&self) -> usize {
        self.columns() * self.height.div_ceil(TILE)
    }

    /// The bytes of each row of a tile.
    fn spans(&self, tile: usize) -> impl Iterator<Item = core::ops::Range<usize>> + use<> {
        let (x, y) = (tile % self.columns() * TILE, tile / self.columns() * TILE);
        let (width, right) = (self.width, (x + TILE).min(self.width));
        (y..(y + TILE).min(self.height))
            .map(move |row| (row * width + x) * 3..(row * width + right) * 3)
    }
}

/// Writes the views of one seat, each after the one before.
#[derive(Clone, Debug, Default)]
pub struct SeatViewer {
    is_partial: bool,
    picture: DrawList,
    shown: Option<DrawList>,
    rasters: Vec<Raster>,
    words: String,
    told: Option<String>,
}

impl SeatViewer {
    /// The view of a seat; the words are told if `tells`, and if they are others than before.
    pub fn view<W: World + ?Sized>(&mut self, world: &mut W, seat: usize, tells: bool) -> Vec<u8> {
        let seats = usize::from(world.spec().seats);
        world.draw(Some(seat), &mut self.picture);
        let mut view = SeatView {
            is_first: self.shown.is_none(),
            score: world.score(),
            seat_scores: (0..seats).map(|seat| world.seat_score(seat)).collect(),
            acting: world.acting(),
            mask: world.mask(seat),
            ..SeatView::default()
        };
        let rasters = take_rasters(&mut self.picture);
        let mut room = MAX_BYTES;
        for (index, raster) in (0..).zip(&rasters) {
            let at = usize::from(index);
            if self.rasters.len() == at {
                self.rasters.push(Raster::default());
            }
            view.patches
                .extend(patch(index, &mut self.rasters[at], raster, &mut room));
        }
        self.rasters.truncate(rasters.len());
        self.is_partial = self.rasters != rasters;
        if self.shown.as_ref() != Some(&self.picture) {
            view.picture = Some(self.picture.clone());
            self.shown = Some(self.picture.clone());
        }
        if tells {
            world.describe(seat, &mut self.words);
            if self.told.as_ref() != Some(&self.words) {
                view.words = Some(self.words.clone());
                self.told = Some(self.words.clone());
            }
        }
        postcard::to_allocvec(&view).expect("plain data serialises into memory")
    }

    /// True if the last view had no room for all of the picture.
    pub fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// Has the next view tell everything: another page is shown it.
    pub fn forget(&mut self) {
        *self = Self::default();
    }
}

/// Takes the pixels out of a picture, in the order of its items. What is no raster, or too large, is empty.
fn take_rasters(picture: &mut DrawList) -> Vec<Raster> {
    let items = picture.items.iter_mut();
    let rasters = items.filter_map(|item| match &mut item.shape {
        Shape::Pixels { width, height, rgb } => {
            let rgb = core::mem::take(rgb);
            let pixels = usize::from(*width) * usize::from(*height);
            if pixels > MAX_PIXELS || rgb.len() != pixels * 3 {
                (*width, *height) = (0, 0);
                return Some(Raster::default());
            }
            Some(Raster {
                width: usize::from(*width),
                height: usize::from(*height),
                rgb,
            })
        }
        _ => None,
    });
    rasters.collect()
}

/// The tiles that differ from what is shown, as far as there is room, which they take; `None` if there are none.
fn patch(index: u16, shown: &mut Raster, now: &Raster, room: &mut usize) -> Option<Patch> {
    if (shown.width, shown.height) != (now.width, now.height) {
        let (width, height) = (now.width, now.height);
        let rgb = vec![0; now.rgb.len()];
        *shown = Raster { width, height, rgb };
    }
    let (mut patch, mut last, mut bytes) = (Patch::default(), 0, Vec::new());
    patch.raster = index;
    for tile in 0..now.tiles() {
        let is_same = |span: core::ops::Range<usize>| shown.rgb[span.clone()] == now.rgb[span];
        if *room < TILE * TILE * 3 || now.spans(tile).all(is_same) {
            continue;
        }
        patch.tiles.push((tile - last) as u16);
        last = tile;
        for span in now.spans(tile) {
            *room -= span.len();
            bytes.extend(&now.rgb[span.clone()]);
            shown.rgb[span.clone()].copy_from_slice(&now.rgb[span]);
        }
    }
    if patch.tiles.is_empty() {
        return None;
    }
    patch.deflated = miniz_oxide::deflate::compress_to_vec(&bytes, LEVEL);
    Some(patch)
}

/// A world that somebody else steps: it shows the last view that it was given by [`World::restore`], and does nothing
/// by itself. Nothing can be observed in it, and no point on it means anything.
#[derive(Clone, Debug)]
pub struct ViewWorld {
    spec: Spec,
    view: SeatView,
    rasters: Vec<Raster>,
    outcome: StepOutcome,
}

impl ViewWorld {
    /// A world of which nothing was shown yet.
    pub fn new(spec: Spec) -> Self {
        Self {
            spec,
            view: SeatView::default(),
            rasters: Vec::new(),
            outcome: StepOutcome::default(),
        }
    }

    /// The same, for those who take any world.
    pub fn boxed(spec: Spec) -> Box<dyn World + Send> {
        Box::new(Self::new(spec))
    }
}

/// The rasters of a picture, with the pixels that they had before where they are as large as before.
fn rasters_of(picture: &DrawList, before: &[Raster]) -> Result<Vec<Raster>, StateError> {
    let sizes = picture.items.iter().filter_map(|item| match item.shape {
        Shape::Pixels { width, height, .. } => Some((width, height)),
        _ => None,
    });
    let mut rasters = Vec::new();
    for (index, (width, height)) in sizes.enumerate() {
        let blank = Raster::blank(width, height).ok_or(StateError)?;
        let same = before
            .get(index)
            .filter(|one| (one.width, one.height) == (blank.width, blank.height));
        rasters.push(same.cloned().unwrap_or(blank));
    }
    Ok(rasters)
}

fn apply(patch: &Patch, rasters: &mut [Raster]) -> Result<(), StateError> {
    let raster = rasters
        .get_mut(usize::from(patch.raster))
        .ok_or(StateError)?;
    let most = patch.tiles.len().min(raster.tiles()) * TILE * TILE * 3;
    let bytes = miniz_oxide::inflate::decompress_to_vec_with_limit(&patch.deflated, most);
    let bytes = bytes.map_err(|_| StateError)?;
    let (mut rest, mut tile) = (bytes.as_slice(), 0);
    for step in &patch.tiles {
        tile += usize::from(*step);
        if tile >= raster.tiles() {
            return Err(StateError);
        }
        for span in raster.spans(tile) {
            let (row, more) = rest.split_at_checked(span.len()).ok_or(StateError)?;
            raster.rgb[span].copy_from_slice(row);
            rest = more;
        }
    }
    rest.is_empty().then_some(()).ok_or(StateError)
}

impl World for ViewWorld {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn reset(&mut self, _seed: u64) {}

    fn step(&mut self, _actions: &[Action]) -> &StepOutcome {
        self.outcome.clear();
        &self.outcome
    }

    fn observe(&mut self, _seat: usize, out: &mut Vec<f32>) {
        out.clear();
        out.resize(self.spec.observation_len(), 0.0);
    }

    fn mask(&mut self, _seat: usize) -> u64 {
        self.view.mask
    }

    fn save(&mut self, _slot: usize) {}

    fn load(&mut self, _slot: usize) {}

    fn digest(&mut self) -> u64 {
        0
    }

    fn state(&mut self, out: &mut Vec<u8>) {
        out.clear();
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        let (view, rest) = postcard::take_from_bytes::<SeatView>(bytes).map_err(|_| StateError)?;
        if !rest.is_empty() {
            return Err(StateError);
        }
        let picture = view.picture.as_ref().or(self.view.picture.as_ref());
        let mut rasters = match picture {
            Some(picture) if view.is_first => rasters_of(picture, &[])?,
            Some(picture) => rasters_of(picture, &self.rasters)?,
            None => Vec::new(),
        };
        for patch in &view.patches {
            apply(patch, &mut rasters)?;
        }
        self.rasters = rasters;
        self.view = SeatView {
            picture: view.picture.or(self.view.picture.take()),
            words: view.words.or(self.view.words.take()),
            patches: Vec::new(),
            ..view
        };
        Ok(())
    }

    fn acting(&mut self) -> u16 {
        self.view.acting
    }

    fn score(&mut self) -> i64 {
        self.view.score
    }

    fn seat_score(&mut self, seat: usize) -> i64 {
        self.view.seat_scores.get(seat).copied().unwrap_or(0)
    }

    fn draw(&mut self, _seat: Option<usize>, out: &mut DrawList) {
        match &self.view.picture {
            Some(picture) => out.clone_from(picture),
            None => out.begin(1.0, 1.0, 0),
        }
        let shapes = out.items.iter_mut().map(|item| &mut item.shape);
        let rasters = shapes.filter_map(|shape| match shape {
            Shape::Pixels { rgb, .. } => Some(rgb),
            _ => None,
        });
        for (rgb, raster) in rasters.zip(&self.rasters) {
            rgb.clone_from(&raster.rgb);
        }
    }

    fn describe(&mut self, _seat: usize, out: &mut String) {
        out.clear();
        out.push_str(self.view.words.as_deref().unwrap_or_default());
    }

    fn inject(&mut self, _draws: &[u32]) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A world whose picture is the pixels that the test gives it.
    struct Painted {
        world: ViewWorld,
        raster: Raster,
    }

    impl Painted {
        fn view(&mut self, viewer: &mut SeatViewer) -> Vec<u8> {
            let mut picture = DrawList::default();
            picture.begin(1.0, 1.0, 0);
            let shape = Shape::Pixels {
                width: self.raster.width as u16,
                height: self.raster.height as u16,
                rgb: Vec::new(),
            };
            picture.push(0, [0.0, 0.0, 1.0, 1.0], shape);
            self.world.view.picture = Some(picture);
            self.world.rasters = vec![self.raster.clone()];
            viewer.view(&mut self.world, 0, false)
        }
    }

    fn pixels(world: &mut ViewWorld) -> Vec<u8> {
        let mut list = DrawList::default();
        world.draw(Some(0), &mut list);
        match &list.items[0].shape {
            Shape::Pixels { rgb, .. } => rgb.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_page_shows_what_the_host_draws() {
        let mut world = envs::open("overcooked", "{}").unwrap();
        world.reset(7);
        let mut shown = ViewWorld::new(world.spec().clone());
        let mut viewer = SeatViewer::default();
        let (mut expected, mut found) = (DrawList::default(), DrawList::default());
        let mut lengths = Vec::new();
        for step in 0..30 {
            let view = viewer.view(&mut *world, 1, step % 10 == 0);
            lengths.push(view.len());
            shown.restore(&view).unwrap();
            world.draw(Some(1), &mut expected);
            shown.draw(Some(1), &mut found);
            assert_eq!(expected, found, "{step}");
            assert_eq!(
                (shown.score(), shown.acting()),
                (world.score(), world.acting())
            );
            if step % 2 == 0 {
                world.step(&[(step % 6) as u16, 4]);
            }
        }
        // What did not change is not told again.
        assert!(lengths[2] < lengths[0] / 2, "{lengths:?}");
        let mut words = String::new();
        shown.describe(1, &mut words);
        assert!(!words.is_empty());
    }

    #[test]
    fn of_pixels_only_the_changed_tiles_travel() {
        let spec = Spec {
            seats: 1,
            ..Spec::default()
        };
        let mut raster = Raster::blank(210, 163).unwrap();
        let noise = |index: usize| (index * 2_654_435_761 >> 13) as u8;
        raster
            .rgb
            .iter_mut()
            .enumerate()
            .for_each(|(index, byte)| *byte = noise(index));
        let mut host = Painted {
            world: ViewWorld::new(spec.clone()),
            raster,
        };
        let (mut viewer, mut shown) = (SeatViewer::default(), ViewWorld::new(spec));
        let first = host.view(&mut viewer);
        shown.restore(&first).unwrap();
        assert_eq!(pixels(&mut shown), host.raster.rgb);
        // The last pixel is in a tile that is narrower and lower than others.
        let last = host.raster.rgb.len() - 1;
        for at in [0, 3 * 210 * 90 + 5, last] {
            host.raster.rgb[at] ^= 0x55;
            let more = host.view(&mut viewer);
            assert!(
                more.len() < first.len() / 20,
                "{} of {}",
                more.len(),
                first.len()
            );
            shown.restore(&more).unwrap();
            assert_eq!(pixels(&mut shown), host.raster.rgb);
        }
        let nothing = host.view(&mut viewer);
        assert!(nothing.len() < 32);
        viewer.forget();
        let mut other = ViewWorld::new(Spec::default());
        other.restore(&host.view(&mut viewer)).unwrap();
        assert_eq!(pixels(&mut other), host.raster.rgb);
    }

    #[test]
    fn bytes_that_are_no_view_change_nothing() {
        let mut world = envs::open("overcooked", "{}").unwrap();
        world.reset(7);
        let view = SeatViewer::default().view(&mut *world, 0, true);
        let mut shown = ViewWorld::new(world.spec().clone());
        shown.restore(&view).unwrap();
        let before = format!("{shown:?}");
        for len in 0..view.len() {
            assert_eq!(shown.restore(&view[..len]), Err(StateError), "{len}");
        }
        let bad = |patch: Patch| SeatView {
            patches: vec![patch],
            ..SeatView::default()
        };
        let deflated = miniz_oxide::deflate::compress_to_vec(&[0; 5_000], 1);
        for patch in [
            Patch {
                raster: 3,
                ..Patch::default()
            },
            Patch {
                tiles: vec![u16::MAX; 9],
                deflated,
                ..Patch::default()
            },
        ] {
            let bytes = postcard::to_allocvec(&bad(patch)).unwrap();
            assert_eq!(shown.restore(&bytes), Err(StateError));
        }
        assert_eq!(format!("{shown:?}"), before);
    }
    use alloc::format;
}
