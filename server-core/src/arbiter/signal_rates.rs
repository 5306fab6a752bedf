//! Limits on the signals between the pages of one episode.

use std::collections::BTreeMap;

use protocol::Seat;

use super::bucket::Bucket;
use crate::limits::Rate;

/// How often pages of one episode send signals.
#[derive(Debug, Default)]
pub(super) struct SignalRates {
    /// By the sender and the receiver.
    pairs: BTreeMap<(Seat, Seat), Bucket>,
    /// By the receiver.
    receivers: BTreeMap<Seat, Bucket>,
}

impl SignalRates {
    /// True if one more signal passes.
    pub(super) fn take_token(
        &mut self,
        now_us: u64,
        from: Seat,
        to: Seat,
        each: Rate,
        all: Rate,
    ) -> bool {
        let take = |bucket: &mut Bucket, rate: Rate| {
            let each_us = 60_000_000 / u64::from(rate.per_min.max(1));
            bucket.take_token_of(now_us, each_us, rate.burst.into())
        };
        take(self.pairs.entry((from, to)).or_default(), each)
            && take(self.receivers.entry(to).or_default(), all)
    }
}
