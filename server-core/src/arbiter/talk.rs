//! The chat of a group as plain data: its latest messages, and how many each place has written.

use std::collections::{BTreeMap, VecDeque};

use protocol::control::{Line, MAX_TALK, Talker};
use protocol::{Seat, Tick};

/// The chat of a group at one visit.
#[derive(Debug, Default)]
pub(super) struct Talk {
    /// The number of the visit among those that the group makes together.
    pub round: u16,
    /// Since when, microseconds, if the visit is that of a chat.
    pub since_us: Option<u64>,
    /// When everybody continues, microseconds; `None` beside episodes, and once they have continued.
    pub until_us: Option<u64>,
    /// The latest messages.
    pub(super) lines: VecDeque<Line>,
    /// Bytes of text in it.
    bytes: usize,
    /// How many messages each place has written.
    turns: BTreeMap<Seat, u32>,
    /// The state of each place, as the people there were last told.
    pub(super) told: Vec<Talker>,
}

impl Talk {
    pub(super) fn new(round: u16) -> Self {
        Self {
            round,
            ..Self::default()
        }
    }

    /// Forgets some of the messages.
    pub(super) fn forget_lines(&mut self, is_meant: impl Fn(&Line) -> bool) {
        self.lines.retain(|line| !is_meant(line));
        self.bytes = self.lines.iter().map(|line| line.text.len()).sum();
    }

    pub(super) fn push_line(&mut self, line: Line) {
        *self.turns.entry(line.place).or_default() = line.number + 1;
        self.bytes += line.text.len();
        self.lines.push_back(line);
        while self.bytes > MAX_TALK {
            let Some(first) = self.lines.pop_front() else {
                return;
            };
            self.bytes -= first.text.len();
        }
    }

    /// How many messages a place has written.
    pub(super) fn turn(&self, place: Seat) -> u32 {
        self.turns.get(&place).copied().unwrap_or(0)
    }
}

/// A message as a page sends it.
#[derive(Debug)]
pub(super) struct Saying {
    pub round: u16,
    pub number: u32,
    pub sent_us: u64,
    pub tick: Option<Tick>,
    pub text: String,
}
