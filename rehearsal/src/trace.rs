//! The events and messages of one session, in the order of time: shown for a session that is stuck.

use std::collections::VecDeque;
use std::fmt;

use protocol::control::{ClientMessage, ServerMessage};

/// Number of lines that are kept; older ones are dropped.
const KEPT: usize = 300;

/// The longest line, characters.
const LINE: usize = 240;

/// The events and messages of one session.
#[derive(Clone, Debug, Default)]
pub(super) struct Trace {
    began_us: Option<u64>,
    lines: VecDeque<(u64, String)>,
    left_out: usize,
}

impl Trace {
    /// Records an event.
    pub(super) fn add_note(&mut self, now_us: u64, what: impl Into<String>) {
        let began_us = *self.began_us.get_or_insert(now_us);
        if self.lines.len() == KEPT {
            self.lines.pop_front();
            self.left_out += 1;
        }
        let mut what = what.into();
        if let Some((end, _)) = what.char_indices().nth(LINE) {
            what.truncate(end);
        }
        self.lines
            .push_back((now_us.saturating_sub(began_us), what));
    }

    /// Records a message to the server, unless there are many of its kind.
    pub(super) fn note_sent(&mut self, now_us: u64, message: &ClientMessage) {
        let many = matches!(
            message,
            ClientMessage::Clock { .. }
                | ClientMessage::Relay { .. }
                | ClientMessage::Signal { .. }
        );
        match message {
            _ if many => {}
            ClientMessage::Upload(upload) => {
                let block = upload.block.as_ref();
                let first = block.map(|block| block.first.0);
                let inputs = block.map_or(0, |block| block.inputs.len());
                let (life, ended) = (upload.life.0, upload.ended);
                let what =
                    format!("> Upload of {inputs} inputs from {first:?}, life {life}, {ended:?}");
                self.add_note(now_us, what);
            }
            message => self.add_note(now_us, format!("> {message:?}")),
        }
    }

    /// Records a message of the server, unless there are many of its kind.
    pub(super) fn note_received(&mut self, now_us: u64, message: &ServerMessage) {
        let what = match message {
            ServerMessage::Clock { .. }
            | ServerMessage::Relay { .. }
            | ServerMessage::Signal { .. } => return,
            // The token is a secret, also in a rehearsal that keeps its data.
            ServerMessage::Welcome { title, .. } => format!("< Welcome to {title:?}"),
            ServerMessage::Match(plan) => format!(
                "< Match {} seat {} of {:?}, life {}, running {}",
                plan.episode, plan.seat.0, plan.controllers, plan.life.0, plan.running
            ),
            ServerMessage::Return(back) => {
                format!("< Return at tick {} with {:?}", back.tick.0, back.changes)
            }
            ServerMessage::Part { bytes, .. } => format!("< Part of {} bytes", bytes.len()),
            message => format!("< {message:?}"),
        };
        self.add_note(now_us, what);
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.left_out > 0 {
            writeln!(f, "    … {} lines before", self.left_out)?;
        }
        for (since_us, what) in &self.lines {
            let s = *since_us as f64 / 1e6;
            writeln!(f, "    {s:>9.3} s  {what}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_has_what_came_last_and_neither_secrets_nor_what_there_is_much_of() {
        let mut trace = Trace::default();
        for k in 0..KEPT as u64 + 5 {
            trace.add_note(1_000_000 + k, "again");
        }
        let welcome = ServerMessage::Welcome {
            session: "secret".to_owned(),
            title: "Cooking".to_owned(),
            language: "en".to_owned(),
            languages: Vec::new(),
            contact: "lab@example.edu".into(),
            modules: Vec::new(),
        };
        trace.note_received(3_500_000, &welcome);
        trace.note_sent(3_600_000, &ClientMessage::Clock { sent_us: 5 });
        trace.note_sent(3_700_000, &ClientMessage::Leave);
        let text = trace.to_string();
        assert!(text.contains("7 lines before"), "{text}");
        assert!(
            text.ends_with("    2.500 s  < Welcome to \"Cooking\"\n        2.700 s  > Leave\n"),
            "{text}"
        );
    }
}
