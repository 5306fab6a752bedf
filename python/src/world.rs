//! One running environment.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use batch::Episode;
use env_core::contract::StateError;
use env_core::draw::DrawList;
use env_core::{Action, Spec, envs};
use module::Sprite;
use numpy::{PyArray1, PyArray2, PyArray3, PyArrayMethods as _};
use picture::Renderer;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{stopped, value};
use crate::saved::Saved;

/// A world that may change threads.
pub(crate) type Boxed = Box<dyn env_core::World + Send>;

/// Where worlds come from: an environment of ours, or the module of someone else.
pub(crate) enum Source {
    Native(String),
    Module(Box<module::Code>),
}

impl Source {
    /// Finds an environment by its id, or by the path of a module, which ends in `.wasm`.
    ///
    /// # Errors
    /// A file that cannot be read, or that is no module.
    pub(crate) fn find(id: &str) -> PyResult<Self> {
        if Path::new(id).extension().is_none_or(|end| end != "wasm") {
            return Ok(Self::Native(id.to_owned()));
        }
        let bytes = std::fs::read(id)?;
        let code = module::Code::compile(&bytes, module::ModuleLimits::default());
        Ok(Self::Module(Box::new(code.map_err(value)?)))
    }

    /// Opens a world with these parameters.
    ///
    /// # Errors
    /// Parameters that are refused, or an unknown id.
    pub(crate) fn open(&self, params: &str) -> PyResult<Boxed> {
        Ok(self.open_with_sprites(params)?.0)
    }

    /// Opens a world, and gives the pictures that its draw lists name.
    fn open_with_sprites(&self, params: &str) -> PyResult<(Boxed, Vec<Sprite>)> {
        match self {
            Self::Native(id) => {
                let world = envs::open(id, params).map_err(value)?;
                let sprites = envs::sprites_of(id).map_err(value)?;
                let own = |sprite: &env_core::draw::Sprite| Sprite {
                    name: sprite.name.to_owned(),
                    svg: sprite.svg.to_owned(),
                };
                Ok((world, sprites.iter().map(own).collect()))
            }
            Self::Module(code) => {
                let module = code.open(params).map_err(value)?;
                let sprites = module.facts().sprites.clone();
                Ok((Box::new(module), sprites))
            }
        }
    }
}

/// The result of a step: rewards, terminated and truncated seats as bits, whether the episode is over,
/// and the sums of the events' values, `[seat, kind]`.
type Step<'py> = (Vec<f32>, u16, u16, bool, Bound<'py, PyArray2<f32>>);

/// An event: its kind, the seat that caused it, the seat to which it happened, and how much.
type WorldEvent = (u16, u8, Option<u8>, f32);

/// One running environment.
#[pyclass(module = "coplay._coplay")]
pub(crate) struct World {
    /// Behind a lock that is never waited for: it makes the world shareable, and methods have it alone.
    world: Mutex<Boxed>,
    spec: Spec,
    episode: Episode,
    /// The events of the last step.
    events: Vec<WorldEvent>,
    /// The rewards of the last step in parts; empty if nothing was earned.
    components: Vec<f32>,
    sprites: Vec<Sprite>,
    /// Read when the first picture is wanted.
    renderer: Option<Mutex<Renderer>>,
}

impl World {
    /// The facts that the parameters fix.
    pub(crate) fn facts(&self) -> &Spec {
        &self.spec
    }

    /// The pictures that draw lists name.
    pub(crate) fn sprites(&self) -> &[Sprite] {
        &self.sprites
    }

    /// The draw list of the state, as a seat sees it or all of it.
    ///
    /// # Errors
    /// There is no such seat.
    pub(crate) fn draw_list(&mut self, seat: Option<usize>) -> PyResult<DrawList> {
        seat.map_or(Ok(()), |seat| self.check_seat(seat))?;
        let mut list = DrawList::default();
        self.world().draw(seat, &mut list);
        Ok(list)
    }

    /// The observation of a seat, and the actions that may have an effect for it, as bits.
    ///
    /// # Errors
    /// There is no such seat.
    pub(crate) fn observe_with_mask(&mut self, seat: usize) -> PyResult<(Vec<f32>, u64)> {
        self.check_seat(seat)?;
        let mut values = Vec::new();
        self.world().observe(seat, &mut values);
        let mask = self.world().mask(seat);
        Ok((values, mask))
    }

    fn world(&mut self) -> &mut Boxed {
        self.world.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses a world that broke down, which only a module can.
    fn stand(&mut self) -> PyResult<()> {
        match self.world().fault() {
            None => Ok(()),
            Some(fault) => Err(stopped(fault)),
        }
    }

    /// The picture of the state, as a seat sees it or all of it, and who draws it.
    fn picture(&mut self, seat: Option<usize>) -> PyResult<(DrawList, &mut Renderer)> {
        let list = self.draw_list(seat)?;
        if self.renderer.is_none() {
            let sprites = self
                .sprites
                .iter()
                .map(|sprite| (&sprite.name, &sprite.svg));
            self.renderer = Some(Mutex::new(Renderer::new(sprites).map_err(value)?));
        }
        let renderer = self.renderer.as_mut().expect("it was made above");
        let renderer = renderer.get_mut().unwrap_or_else(PoisonError::into_inner);
        Ok((list, renderer))
    }

    fn forget_step(&mut self) {
        self.events.clear();
        self.components.clear();
    }

    fn check_seat(&self, seat: usize) -> PyResult<()> {
        let Spec { id, seats, .. } = &self.spec;
        if seat < usize::from(*seats) {
            return Ok(());
        }
        let last = seats - 1;
        Err(value(format!(
            "seat: there is no seat {seat}; `{id}` has seats 0 to {last}"
        )))
    }

    /// Actions as the world takes them.
    fn actions(&self, actions: &[i64]) -> PyResult<Vec<Action>> {
        let Spec {
            seats,
            actions: known,
            ..
        } = &self.spec;
        if actions.len() != usize::from(*seats) {
            return Err(value(format!(
                "actions: {} are given, and there are {seats} seats",
                actions.len()
            )));
        }
        let checked = actions
            .iter()
            .enumerate()
            .map(|(seat, &action)| match usize::try_from(action) {
                Ok(index) if index < known.len() => Ok(index as Action),
                _ => Err(value(format!(
                    "actions: there is no action {action} for seat {seat}; the actions are 0 ({}) to {} ({})",
                    known[0].name,
                    known.len() - 1,
                    known[known.len() - 1].name
                ))),
            });
        checked.collect()
    }
}

#[pymethods]
impl World {
    #[new]
    fn new(id: &str, params: &str) -> PyResult<Self> {
        let (world, sprites) = Source::find(id)?.open_with_sprites(params)?;
        Ok(Self {
            spec: world.spec().clone(),
            world: Mutex::new(world),
            episode: Episode::new(0),
            events: Vec::new(),
            components: Vec::new(),
            sprites,
            renderer: None,
        })
    }

    /// The spec, as JSON.
    fn spec(&self) -> PyResult<String> {
        serde_json::to_string(&self.spec).map_err(value)
    }

    /// Starts an episode with a seed, or else with the next of the stream that the last seed began.
    /// Gives the seed of the episode.
    #[pyo3(signature = (seed=None))]
    fn reset(&mut self, seed: Option<u64>) -> PyResult<u64> {
        let seed = match seed {
            Some(seed) => {
                self.episode = Episode::new(seed);
                seed
            }
            None => self.episode.next_seed(),
        };
        self.world().reset(seed);
        self.forget_step();
        self.stand()?;
        Ok(seed)
    }

    /// Advances by one step; `actions` has one entry a seat.
    fn step<'py>(&mut self, py: Python<'py>, actions: Vec<i64>) -> PyResult<Step<'py>> {
        let actions = self.actions(&actions)?;
        let seats = usize::from(self.spec.seats);
        let world = self.world.get_mut().unwrap_or_else(PoisonError::into_inner);
        let outcome = world.step(&actions);
        self.episode.record(outcome, seats);
        let kinds = self.spec.events.len();
        let mut sums = vec![0.0; seats * kinds];
        for event in &outcome.events {
            sums[usize::from(event.seat) * kinds + usize::from(event.kind)] += event.value;
        }
        let events = outcome.events.iter();
        self.events.clear();
        self.events
            .extend(events.map(|event| (event.kind, event.seat, event.to, event.value)));
        self.components.clone_from(&outcome.components);
        let step = (
            outcome.rewards[..seats].to_vec(),
            outcome.terminated,
            outcome.truncated,
            outcome.over,
            PyArray1::from_vec(py, sums).reshape([seats, kinds])?,
        );
        self.stand()?;
        Ok(step)
    }

    /// The observation of a seat, in a new array.
    fn observe<'py>(
        &mut self,
        py: Python<'py>,
        seat: usize,
    ) -> PyResult<Bound<'py, PyArray1<f32>>> {
        self.check_seat(seat)?;
        let mut values = Vec::new();
        self.world().observe(seat, &mut values);
        Ok(PyArray1::from_vec(py, values))
    }

    /// 1 for each action that may have an effect for a seat, in a new array.
    fn mask<'py>(&mut self, py: Python<'py>, seat: usize) -> PyResult<Bound<'py, PyArray1<i8>>> {
        self.check_seat(seat)?;
        let bits = self.world().mask(seat);
        // An action beyond the bits of a mask may always have an effect.
        let may = |action: usize| i8::from(action >= 64 || bits >> action & 1 == 1);
        let mask = (0..self.spec.actions.len()).map(may).collect();
        Ok(PyArray1::from_vec(py, mask))
    }

    /// The events of the last step: kind, seat that caused it, seat to which it happened, value.
    #[getter]
    fn events(&self) -> Vec<WorldEvent> {
        self.events.clone()
    }

    /// The rewards of the last step in parts, `[seat, component]`, in a new array.
    fn components<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let shape = [usize::from(self.spec.seats), self.spec.components.len()];
        let mut parts = self.components.clone();
        parts.resize(shape[0] * shape[1], 0.0);
        PyArray1::from_vec(py, parts).reshape(shape)
    }

    /// The seats whose actions count in the next step, as bits.
    fn acting(&mut self) -> u16 {
        self.world().acting() & (u16::MAX >> (env_core::MAX_SEATS - usize::from(self.spec.seats)))
    }

    /// The action that a point on a seat's picture means, in cells from its left upper corner.
    fn point(&mut self, seat: usize, x: f32, y: f32) -> PyResult<Option<Action>> {
        self.check_seat(seat)?;
        Ok(self.world().point(seat, [x, y]))
    }

    /// Checks whether the episode is over.
    #[getter]
    fn over(&self) -> bool {
        self.episode.over
    }

    /// Sum of the rewards of each seat in this episode.
    #[getter]
    fn returns(&self) -> Vec<f32> {
        self.episode.returns[..usize::from(self.spec.seats)].to_vec()
    }

    /// Steps of this episode.
    #[getter]
    fn length(&self) -> u32 {
        self.episode.length
    }

    /// The digest of the state: equal on every machine if the states are equal.
    fn digest(&mut self) -> u64 {
        self.world().digest()
    }

    /// The score that people see.
    fn score(&mut self) -> i64 {
        self.world().score()
    }

    /// The score of a seat.
    fn seat_score(&mut self, seat: usize) -> PyResult<i64> {
        self.check_seat(seat)?;
        Ok(self.world().seat_score(seat))
    }

    /// The state in words, as seen from a seat.
    fn describe(&mut self, seat: usize) -> PyResult<String> {
        self.check_seat(seat)?;
        let mut words = String::new();
        self.world().describe(seat, &mut words);
        Ok(words)
    }

    /// The picture of the state, `[row, column, channel]`, at `scale` pixels a cell: as a seat sees it, or all of it.
    #[pyo3(signature = (scale=48, seat=None))]
    fn pixels<'py>(
        &mut self,
        py: Python<'py>,
        scale: u32,
        seat: Option<usize>,
    ) -> PyResult<Bound<'py, PyArray3<u8>>> {
        let (list, renderer) = self.picture(seat)?;
        let rgb = renderer.rgb(&list, scale).map_err(value)?;
        PyArray1::from_vec(py, rgb.pixels).reshape([rgb.height as usize, rgb.width as usize, 3])
    }

    /// The picture of the state as an SVG document: as a seat sees it, or all of it.
    #[pyo3(signature = (seat=None))]
    fn svg(&mut self, seat: Option<usize>) -> PyResult<String> {
        let title = self.spec.title.clone();
        let (list, renderer) = self.picture(seat)?;
        Ok(renderer.svg(&list, &title))
    }

    /// The episode on its way, together with the states of partners.
    fn get_state<'py>(&mut self, py: Python<'py>, partners: Vec<Vec<u8>>) -> Bound<'py, PyBytes> {
        let mut state = Vec::new();
        self.world().state(&mut state);
        let saved = Saved {
            episode: self.episode,
            state,
            partners,
        };
        PyBytes::new(py, &saved.to_bytes())
    }

    /// Takes up what `get_state` gave, and gives the states of partners.
    fn set_state<'py>(
        &mut self,
        py: Python<'py>,
        state: &[u8],
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let mut take = || -> Result<_, StateError> {
            let saved = Saved::from_bytes(state)?;
            self.world().restore(&saved.state)?;
            self.forget_step();
            self.episode = saved.episode;
            Ok(saved.partners)
        };
        let partners = take().map_err(value)?;
        Ok(partners
            .iter()
            .map(|bytes| PyBytes::new(py, bytes))
            .collect())
    }
}
