//! A world of 208 bytes, cheap and sensitive to the order of everything, and a policy with a memory.

use env_core::contract::{ActionSpec, FieldSpec, StateError};
use env_core::draw::DrawList;
use env_core::{Action, MAX_SEATS, Policy, Spec, StepOutcome, World};

pub(crate) const NOOP: Action = 0;
pub(crate) const PRESS: Action = 5;
pub(crate) const ACTIONS: u32 = 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) steps: u32,
    pub(crate) presses: u32,
    pub(crate) places: [i32; MAX_SEATS],
    pub(crate) memory: [u64; 17],
}

/// A fault that a test puts in on purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Defect {
    #[default]
    None,
    /// From this step on, the world is not the world of the others.
    Drift(u32),
    /// Loading leaves a part of the state as it is.
    HalfLoad,
    /// The end is reported a step late.
    LateEnd,
}

pub(crate) struct Toy {
    spec: Spec,
    pub(crate) state: State,
    slots: [State; 64],
    outcome: StepOutcome,
    /// From this step on, one state in 48 ends the episode; at the horizon every state does.
    earliest_end: u32,
    /// After this step, the episode is over if the last seat did nothing in it.
    pub(crate) idle_end: Option<u32>,
    pub(crate) defect: Defect,
    /// True if one seat acts in each step, one after the other.
    pub(crate) alternates: bool,
    /// How often it was saved.
    pub(crate) saves: u64,
}

impl Toy {
    pub(crate) fn new(seats: u8, horizon: u32, earliest_end: u32) -> Self {
        let state = State {
            steps: 0,
            presses: 0,
            places: [0; MAX_SEATS],
            memory: [0; 17],
        };
        let outcome = StepOutcome::default();
        Self {
            spec: spec(seats, horizon),
            state,
            slots: [state; 64],
            outcome,
            earliest_end,
            idle_end: None,
            defect: Defect::None,
            alternates: false,
            saves: 0,
        }
    }

    fn ends(&self, steps: u32) -> bool {
        steps >= self.spec.horizon
            || steps >= self.earliest_end && self.state.memory[0].is_multiple_of(48)
    }
}

/// Source: Vigna, SplitMix64.
pub(crate) fn mix(value: u64) -> u64 {
    let value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ value >> 31
}

impl World for Toy {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn reset(&mut self, seed: u64) {
        self.state = State {
            steps: 0,
            presses: 0,
            places: [0; MAX_SEATS],
            memory: [mix(seed); 17],
        };
    }

    fn step(&mut self, actions: &[Action]) -> &StepOutcome {
        assert_eq!(actions.len(), usize::from(self.spec.seats));
        assert!(
            !self.outcome.over || !self.ends(self.state.steps),
            "stepped after the end"
        );
        let state = &mut self.state;
        for (seat, &action) in actions.iter().enumerate() {
            match action {
                1 => state.places[seat] = state.places[seat].wrapping_add(1),
                2 => state.places[seat] = state.places[seat].wrapping_sub(1),
                3 => state.places.swap(seat, 0),
                4 => state.places[seat] = state.places[0].wrapping_sub(state.places[seat]),
                PRESS => state.presses += 1,
                _ => {}
            }
            state.memory[0] = mix(state.memory[0] ^ u64::from(action) ^ state.places[seat] as u64);
        }
        let cell = 1 + state.steps as usize % 16;
        state.memory[cell] = state.memory[cell].rotate_left(7) ^ state.memory[0];
        state.steps += 1;
        if matches!(self.defect, Defect::Drift(at) if at == state.steps) {
            state.memory[3] ^= 1;
        }
        let late = u32::from(self.defect == Defect::LateEnd);
        let idles = actions.last() == Some(&NOOP) && self.idle_end == Some(self.state.steps);
        let over = idles || self.ends(self.state.steps - late);
        self.outcome.over = over;
        &self.outcome
    }

    fn observe(&mut self, seat: usize, out: &mut Vec<f32>) {
        out.resize(3, 0.0);
        let seen = [
            self.state.places[seat] as f32,
            (self.state.memory[0] % 1024) as f32,
            self.state.steps as f32,
        ];
        out.copy_from_slice(&seen);
    }

    fn save(&mut self, slot: usize) {
        self.saves += 1;
        self.slots[slot] = self.state;
    }

    fn load(&mut self, slot: usize) {
        let presses = self.state.presses;
        self.state = self.slots[slot];
        if self.defect == Defect::HalfLoad {
            self.state.presses = presses;
        }
        self.outcome.over = false;
    }

    fn digest(&mut self) -> u64 {
        let state = &self.state;
        let head = mix(u64::from(state.steps) << 32 | u64::from(state.presses));
        let places = state
            .places
            .iter()
            .fold(head, |digest, &place| mix(digest ^ place as u64));
        state
            .memory
            .iter()
            .fold(places, |digest, &word| mix(digest ^ word))
    }

    fn state(&mut self, out: &mut Vec<u8>) {
        let state = &self.state;
        out.clear();
        out.extend(state.steps.to_le_bytes());
        out.extend(state.presses.to_le_bytes());
        out.extend(state.places.iter().flat_map(|place| place.to_le_bytes()));
        out.extend(state.memory.iter().flat_map(|word| word.to_le_bytes()));
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        let (head, memory) = bytes
            .split_at_checked(8 + 4 * MAX_SEATS)
            .ok_or(StateError)?;
        if memory.len() != 8 * 17 {
            return Err(StateError);
        }
        let word = |at: usize| u32::from_le_bytes(head[4 * at..][..4].try_into().expect("4 bytes"));
        self.state.steps = word(0);
        self.state.presses = word(1);
        self.state.places = std::array::from_fn(|seat| word(2 + seat).cast_signed());
        let word = |at: usize| memory[8 * at..][..8].try_into().expect("8 bytes");
        self.state.memory = std::array::from_fn(|at| u64::from_le_bytes(word(at)));
        self.outcome.over = false;
        Ok(())
    }

    fn acting(&mut self) -> u16 {
        match self.alternates {
            true => 1 << (self.state.steps % u32::from(self.spec.seats)),
            false => u16::MAX,
        }
    }

    fn score(&mut self) -> i64 {
        i64::from(self.state.presses)
    }

    fn draw(&mut self, _seat: Option<usize>, _out: &mut DrawList) {}

    fn describe(&mut self, _seat: usize, _out: &mut String) {}

    fn inject(&mut self, _draws: &[u32]) {}
}

pub(crate) fn spec(seats: u8, horizon: u32) -> Spec {
    let action = |name: &str| ActionSpec {
        name: name.into(),
        momentary: name == "press",
        keys: Vec::new(),
        ..ActionSpec::default()
    };
    Spec {
        id: "toy".into(),
        version: "1.0.0".into(),
        title: "Toy".into(),
        seats,
        actions: ["noop", "up", "down", "swap", "mirror", "press"]
            .map(action)
            .into(),
        noop: NOOP,
        observation: vec![FieldSpec {
            name: "all".into(),
            shape: vec![3],
            ..FieldSpec::default()
        }],
        tick_hz: 10,
        horizon,
        events: Vec::new(),
        compact: false,
        ..Spec::default()
    }
}

/// Chooses by what it sees now and by everything that it saw before.
#[derive(Clone)]
pub(crate) struct Partner {
    memory: u64,
    slots: [u64; 64],
    /// Forgets to go back with the world.
    pub(crate) stubborn: bool,
}

impl Partner {
    pub(crate) fn new(stubborn: bool) -> Self {
        Self {
            memory: 0,
            slots: [0; 64],
            stubborn,
        }
    }
}

impl Policy for Partner {
    fn reset(&mut self, seat: usize, seed: u64) {
        self.memory = mix(seed ^ seat as u64);
    }

    fn act(&mut self, observation: &[f32]) -> Action {
        for value in observation {
            self.memory = mix(self.memory ^ u64::from(value.to_bits()));
        }
        // Now and then an action that the environment does not have: the session must make it the no-op.
        (self.memory % u64::from(ACTIONS + 1)) as Action
    }

    fn save(&mut self, slot: usize) {
        self.slots[slot] = self.memory;
    }

    fn load(&mut self, slot: usize) {
        if !self.stubborn {
            self.memory = self.slots[slot];
        }
    }

    fn digest(&self) -> u64 {
        self.memory
    }

    /// Before it begins, it has no state that it can be restored from, as a partner whose actions come late has none.
    fn state(&self, out: &mut Vec<u8>) {
        out.clear();
        if self.memory != 0 {
            out.extend(self.memory.to_le_bytes());
        }
    }

    fn restore(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        self.memory = u64::from_le_bytes(bytes.try_into().map_err(|_| StateError)?);
        Ok(())
    }
}
