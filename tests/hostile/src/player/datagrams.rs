//! The datagrams of a dishonest page, which travel through the server.

use tokio::time::Instant;

use super::Player;
use crate::conduct::Receipts;
use crate::wire::chain::read_seal;
use crate::wire::datagram::{Datagram, MAX_INPUTS, decode_datagram, encode_datagram};
use crate::wire::messages::ClientMessage;

impl Player {
    /// Takes a datagram or a seal of another page.
    pub(super) fn hear_datagram(&mut self, from: usize, bytes: &[u8]) {
        if let Some(seal) = read_seal(bytes) {
            self.seal = Some(seal);
        }
        let Some(datagram) = decode_datagram(bytes, self.layout()) else {
            return;
        };
        self.echo[from] = Some((datagram.sent_ms, Instant::now()));
        let me = self.me();
        self.known[from] = self.known[from].max(datagram.have[me]);
        let heard = &mut self.inputs[from];
        // What the server has is not sent for ever.
        if heard.len() < datagram.first as usize {
            let until = &mut self.words_until[from];
            *until = (*until).min(heard.len() as u32);
            heard.resize(datagram.first as usize, 0);
        }
        let skip = heard.len().checked_sub(datagram.first as usize);
        if let Some(skip) = skip {
            heard.extend(datagram.inputs.iter().skip(skip));
        }
    }

    /// Tells another page the inputs that it lacks, by its manners.
    pub(super) async fn send_datagram(&mut self, to: usize) -> anyhow::Result<()> {
        let own = &self.inputs[self.me()];
        let is_told = self.manners.says_inputs && self.manners.withholds_from != Some(to);
        let says = is_told && self.start.is_some();
        let first = if says { self.known[to] as usize } else { 0 };
        let last = own.len().min(first + MAX_INPUTS);
        let mut inputs = if says && first < last {
            own[first..last].to_vec()
        } else {
            Vec::new()
        };
        if self.words.lies_to == Some(to) {
            let actions = self.layout().actions;
            for (tick, input) in (first as u32..).zip(&mut inputs) {
                *input = (self.words.twist)(tick, *input, actions);
            }
        }
        let have = self.inputs.iter().map(|heard| heard.len() as u32);
        let datagram = Datagram {
            from: self.plan.seat,
            era: self.plan.era,
            life: self.plan.life,
            delay_ms: self.delay_ms,
            changes: self.changes.len() as u8,
            first: first as u32,
            inputs,
            have: have
                .map(|have| match self.manners.receipts {
                    Receipts::True => have,
                    Receipts::None => 0,
                    Receipts::Future => have + 200,
                    Receipts::Behind => have.saturating_sub(60),
                })
                .collect(),
            sent_ms: (self.began.elapsed().as_millis() % 65_536) as u16,
            echo: self.echo[to]
                .map(|(sent_ms, since)| (sent_ms, since.elapsed().as_millis().min(255) as u8)),
            ..Datagram::default()
        };
        let bytes = encode_datagram(&datagram, self.layout());
        let to = to as u8;
        self.page.send(&ClientMessage::Relay { to, bytes }).await
    }

    /// Ticks that everybody has everybody's input for, as far as is known here.
    pub(crate) fn confirmed(&self) -> u32 {
        let has = self.inputs.iter().map(|inputs| inputs.len() as u32);
        let others = (0..self.inputs.len()).filter(|seat| *seat != self.me());
        let known = others.map(|seat| self.known[seat]);
        has.chain(known).min().unwrap_or(0)
    }
}
