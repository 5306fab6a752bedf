//! A world that somebody else steps, as one seat sees it: [`SeatViewer`] makes views where the world is stepped,
//! [`ViewWorld`] reads them where it is only shown. A view has what the seat may see, and nothing else of the state.
//!
//! Each view has the changes since the one before. Pixels are sent as changed tiles, at most as fine as the page shows
//! them: flat art deflated, without loss, and photographs as JPEG.

mod photo;
mod raster;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::contract::{Action, ParamError, Spec, StateError, StepOutcome, World};
use crate::draw::{DrawList, Shape};
use crate::envs::{self, NativeEnvironment, Visitor};
use crate::guest::Sprite;
use crate::tally::{read_sums, write_sums};
use raster::{MAX_BYTES, Patch, Raster, apply, find_patch, rasters_of, take_rasters};

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

    /// The facts of a world with these pictures.
    pub fn new(spec: &Spec, sprites: Vec<Sprite>) -> Self {
        let spec = spec.clone();
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
    /// True if there was no view before.
    is_first: bool,
    score: i64,
    seat_scores: Vec<i64>,
    acting: u16,
    mask: u64,
    /// The picture, with empty rasters; `None` if it is unchanged.
    picture: Option<DrawList>,
    patches: Vec<Patch>,
    words: Option<String>,
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
    size: [u16; 2],
    rewards: Vec<f64>,
}

impl SeatViewer {
    /// The page shows the picture in this many pixels of its screen, width and height; 0 if that is not known.
    pub fn fit(&mut self, size: [u16; 2]) {
        self.size = size;
    }

    /// Adds these sums of the seats' rewards to views from now on; an empty list leaves them out.
    pub fn tell_rewards(&mut self, sums: &[f64]) {
        self.rewards.clear();
        self.rewards.extend_from_slice(sums);
    }

    /// Returns the point of the last picture at these parts of its width and height, in 65,536ths; in its units.
    pub fn point_of(&self, at: [u16; 2]) -> [f32; 2] {
        let [x, y] = at.map(|part| (f32::from(part) + 0.5) / 65_536.0);
        [x * self.picture.width, y * self.picture.height]
    }

    /// Makes the view of a seat; it has the words if `tells` is set and they have changed.
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
        let rasters = take_rasters(&mut self.picture, self.size);
        let mut room = MAX_BYTES;
        for (index, raster) in (0..).zip(&rasters) {
            let at = usize::from(index);
            if self.rasters.len() == at {
                self.rasters.push(Raster::default());
            }
            view.patches
                .extend(find_patch(index, &mut self.rasters[at], raster, &mut room));
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
        let mut bytes = postcard::to_allocvec(&view).expect("plain data serialises into memory");
        write_sums(&self.rewards, &mut bytes);
        bytes
    }

    /// True if the last view had no room for all of the picture.
    pub fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// Makes the next view complete, because another page gets it.
    pub fn forget(&mut self) {
        *self = Self {
            size: self.size,
            rewards: core::mem::take(&mut self.rewards),
            ..Self::default()
        };
    }
}

/// A world that somebody else steps: it shows the last view from [`World::restore`], and does nothing by itself.
/// Nothing can be observed in it, and only the host knows the meaning of a point on it.
#[derive(Clone, Debug)]
pub struct ViewWorld {
    spec: Spec,
    view: SeatView,
    rewards: Option<Vec<f64>>,
    rasters: Vec<Raster>,
    outcome: StepOutcome,
}

impl ViewWorld {
    /// A world of which nothing was shown yet.
    pub fn new(spec: Spec) -> Self {
        Self {
            spec,
            view: SeatView::default(),
            rewards: None,
            rasters: Vec::new(),
            outcome: StepOutcome::default(),
        }
    }

    /// Returns the same, for callers that take any world.
    pub fn boxed(spec: Spec) -> Box<dyn World + Send> {
        Box::new(Self::new(spec))
    }
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
        let rewards = read_sums(rest, self.spec.seats.into());
        if !rest.is_empty() && rewards.is_none() {
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
        (self.rasters, self.rewards) = (rasters, rewards);
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

    fn reward_sum(&self, seat: usize) -> Option<f64> {
        self.rewards.as_ref()?.get(seat).copied()
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
    use alloc::vec;

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
        // Unchanged parts are not sent again.
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
        // Few enough colours that no tile is taken for a photograph.
        let noise = |index: usize| ((index * 2_654_435_761) >> 13) as u8 & 3;
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

    /// A picture of smooth colours with grain, as cameras make them, and a flat square in its first tile.
    fn photograph(width: u16, height: u16) -> Raster {
        let mut raster = Raster::blank(width, height).unwrap();
        for (index, pixel) in raster.rgb.as_chunks_mut::<3>().0.iter_mut().enumerate() {
            let (x, y) = (index % usize::from(width), index / usize::from(width));
            let grain = ((index * 2_654_435_761) >> 13) as u8 & 7;
            *pixel = match x < 16 && y < 16 {
                true => [200, 30, 30 * (x as u8 % 2)],
                false => [(x / 4) as u8 + grain, (y / 4) as u8 + grain, 90 + grain],
            };
        }
        raster
    }

    #[test]
    fn photographs_travel_as_jpeg_and_flat_art_beside_them_without_loss() {
        let spec = Spec {
            seats: 1,
            ..Spec::default()
        };
        let mut host = Painted {
            world: ViewWorld::new(spec.clone()),
            raster: photograph(320, 240),
        };
        let (mut viewer, mut shown) = (SeatViewer::default(), ViewWorld::new(spec));
        let mut bytes = 0;
        loop {
            let view = host.view(&mut viewer);
            shown.restore(&view).unwrap();
            bytes += view.len();
            if !viewer.is_partial() {
                break;
            }
        }
        assert!(bytes < host.raster.rgb.len() / 8, "{bytes}");
        let (found, made) = (pixels(&mut shown), &host.raster.rgb);
        let squares = found
            .iter()
            .zip(made)
            .map(|(a, b)| u64::from(a.abs_diff(*b)).pow(2));
        let mean = squares.sum::<u64>() / made.len() as u64;
        assert!((1..20).contains(&mean), "a mean square error of {mean}");
        for row in 0..16 {
            let flat = row * 320 * 3..(row * 320 + 16) * 3;
            assert_eq!(
                found[flat.clone()],
                made[flat],
                "row {row} of the flat square"
            );
        }
    }

    #[test]
    fn a_picture_travels_no_finer_than_the_page_shows_it() {
        let spec = Spec {
            seats: 1,
            ..Spec::default()
        };
        let mut host = Painted {
            world: ViewWorld::new(spec.clone()),
            raster: photograph(640, 480),
        };
        let length = |size: [u16; 2], host: &mut Painted| {
            let (mut viewer, mut shown) = (SeatViewer::default(), ViewWorld::new(spec.clone()));
            viewer.fit(size);
            shown.restore(&host.view(&mut viewer)).unwrap();
            pixels(&mut shown).len()
        };
        assert_eq!(length([0, 0], &mut host), 640 * 480 * 3);
        // Hardly smaller: the picture is not changed.
        assert_eq!(length([600, 600], &mut host), 640 * 480 * 3);
        assert_eq!(length([160, 160], &mut host), 160 * 160 * 3);
        // Every pixel is the mean of the pixels under it.
        host.raster.rgb.fill(77);
        let (mut viewer, mut shown) = (SeatViewer::default(), ViewWorld::new(spec.clone()));
        viewer.fit([160, 160]);
        shown.restore(&host.view(&mut viewer)).unwrap();
        assert!(pixels(&mut shown).iter().all(|byte| *byte == 77));
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
            Patch {
                photos: vec![0; 4],
                jpeg: vec![0xFF, 0xD8, 0xFF, 0xD9],
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
