//! The invariants of a match after every step, and at its end.

use super::*;

impl<'a, W: World> Match<'a, W> {
    /// The oracles that hold after every step of a peer.
    pub(super) fn watch(&mut self, at: usize, now_us: u64) -> Result<(), String> {
        let window = u32::from(self.scenario.window);
        let peer = &self.peers[at];
        let Some(session) = &peer.session else {
            return Ok(());
        };
        let (confirmed, current) = (session.confirmed().0, session.current().0);
        let settled = session.settled().0;
        if settled < peer.settled {
            return Err(format!(
                "retraction: {} final, then {settled}",
                peer.settled
            ));
        }
        // A seat that was cut may leave a page beyond the window: it then waits.
        let runs_on = current > peer.current;
        let deepest = u32::from(session.stats().max_depth);
        let is_cut = session.changes() > 0;
        if confirmed > current
            || runs_on && current - confirmed > window
            || deepest > window && !is_cut
        {
            return Err(format!(
                "window: {current} simulated, {confirmed} confirmed"
            ));
        }
        let ticks = self.sessions().map(|session| session.current().0);
        let (least, most) = ticks.fold((u32::MAX, 0), |(least, most), tick| {
            (least.min(tick), most.max(tick))
        });
        self.gap = self.gap.max(most - least);
        let peer = &mut self.peers[at];
        peer.current = current;
        if now_us >= peer.second.0 + 1_000_000 {
            self.fastest = self.fastest.max(current.saturating_sub(peer.second.1));
            peer.second = (now_us, current);
        }
        self.watch_receipts(at)?;
        self.watch_log(at)
    }

    /// Checks that a confirmed tick is one that everyone has reported to have, or that the server has.
    fn watch_receipts(&self, at: usize) -> Result<(), String> {
        let Some(session) = &self.peers[at].session else {
            return Ok(());
        };
        let (seat, confirmed) = (self.peers[at].seat.index(), session.confirmed().0);
        // A page that knows less than the server may still count on a page that is gone; the log shows the result.
        if usize::from(session.changes()) < self.arbiter.changes.len() {
            return Ok(());
        }
        let people = || 0..usize::from(self.layout.seats);
        for from in people().filter(|&from| from != seat && self.arbiter.is_person(from)) {
            for of in people().filter(|&of| of != from) {
                let begun = self.arbiter.start(from).max(session.first_tick().0);
                // The server tells everybody what is final.
                let first = self.told[from][of].max(begun).max(self.arbiter.durable());
                if (first..confirmed).any(|tick| self.arbiter.awaits(of, tick)) {
                    return Err(format!(
                        "receipts: seat {seat} confirmed {confirmed} without seat {from} for seat {of}"
                    ));
                }
            }
        }
        Ok(())
    }

    /// One log and one row of digests: what is final on a page is what the server has.
    fn watch_log(&mut self, at: usize) -> Result<(), String> {
        let seats = self.scenario.controllers.len();
        let (durable, archive) = (self.arbiter.durable(), &self.arbiter.archive);
        let peer = &mut self.peers[at];
        let Some(session) = peer.session.as_ref().filter(|_| peer.is_member) else {
            return Ok(());
        };
        // Who does not know the last change yet may still be beyond it.
        let settled = session.settled().0.min(durable);
        let first = session.first_tick().0;
        let fresh = peer.settled.max(first)..settled;
        let cells = fresh.start as usize * seats..fresh.end.max(fresh.start) as usize * seats;
        let skipped = first as usize * seats;
        let own = &session.rows()[cells.start - skipped..cells.end - skipped];
        let differs = own
            .iter()
            .zip(&archive[cells.clone()])
            .position(|(a, b)| a != b);
        if let Some(cell) = differs {
            let (tick, seat) = ((cells.start + cell) / seats, cell % seats);
            return Err(format!(
                "log: tick {tick} seat {seat} is {} and {}",
                archive[cells.start + cell],
                own[cell]
            ));
        }
        let is_fresh = |(tick, _): &&(Tick, u64)| tick.0 > fresh.start && tick.0 <= settled;
        let own: Vec<_> = session.digests().iter().filter(is_fresh).collect();
        let known: Vec<_> = self.arbiter.digests.iter().filter(is_fresh).collect();
        if own != known {
            return Err(format!("digest: {known:?} and {own:?}"));
        }
        peer.settled = settled.max(peer.settled);
        Ok(())
    }

    /// The oracles that hold at the end.
    pub(super) fn judge(mut self) -> Result<Report, String> {
        let seats = self.scenario.controllers.len();
        let ticks = self.arbiter.durable();
        for peer in &self.peers {
            let Some(session) = &peer.session else {
                continue;
            };
            let ends = (
                session.confirmed().0,
                session.ended(),
                session.current().0,
                peer.over_events > 0,
            );
            if ends != (ticks, Some(Tick(ticks)), ticks, true) {
                return Err(format!("end: {ends:?} of {ticks}"));
            }
            let first = session.first_tick();
            let digests = &self.arbiter.digests;
            let before = digests.partition_point(|(tick, _)| *tick <= first);
            if session.rows() != &self.arbiter.archive[first.0 as usize * seats..]
                || session.digests() != &digests[before..]
            {
                return Err("log: a page ends with another one than the server".into());
            }
            let stats = session.stats();
            if (stats.dropped - stats.refused.life, stats.equivocations) != (0, 0) {
                return Err(format!("honesty: {stats:?}"));
            }
            if self.arbiter.changes.is_empty() && stats.dropped > 0 {
                return Err(format!("honesty: {stats:?}"));
            }
        }
        self.replay()?;
        let (frames, seen_bytes) = self.rebuild()?;
        let t0_us = READY_US + 500_000;
        Ok(Report {
            ticks,
            stats: self.sessions().map(|session| *session.stats()).collect(),
            playing_us: self
                .peers
                .iter()
                .map(|peer| peer.over_us.saturating_sub(t0_us))
                .max()
                .unwrap_or(0),
            log: std::mem::take(&mut self.arbiter.archive),
            changes: std::mem::take(&mut self.arbiter.changes),
            gap: self.gap,
            delay_ms: self.sessions().map(Session::delay_ms).max().unwrap_or(0),
            fastest: self.fastest,
            frames,
            seen_bytes,
        })
    }

    /// A fresh world, stepped through the log again, and the partners asked again.
    fn replay(&mut self) -> Result<(), String> {
        let (arbiter, seats) = (&self.arbiter, self.scenario.controllers.len());
        let world = (self.world)(None);
        let mut replica = Replica::new(world, &arbiter.controllers, self.scenario.seed);
        replica.enter(&arbiter.changes);
        let ticks = arbiter.durable();
        for (row, tick) in arbiter.archive.chunks(seats).zip(1..) {
            let mut chosen = replica.chosen().iter().zip(row);
            if chosen.any(|(choice, action)| choice.is_some_and(|choice| choice != *action)) {
                return Err(format!(
                    "replay: a partner plays otherwise at tick {}",
                    tick - 1
                ));
            }
            let over = replica.step(row, &arbiter.changes);
            if over != (arbiter.ended == Some(tick)) {
                return Err(format!(
                    "replay: over is {over} after {tick} of {ticks} steps"
                ));
            }
            let mut known = arbiter.digests.iter().filter(|(at, _)| at.0 == tick);
            if known.any(|(_, digest)| *digest != replica.world.digest()) {
                return Err("replay: other digests".into());
            }
        }
        Ok(())
    }

    /// Every frame that was shown, from the log and from what the pages noted.
    fn rebuild(&mut self) -> Result<(usize, usize), String> {
        let mut screens = std::mem::take(&mut self.screens);
        let peers = self.peers.iter_mut();
        screens.extend(peers.map(|peer| (peer.seat, std::mem::take(&mut peer.screen))));
        let (mut shown, mut size) = (0, 0);
        for (seat, screen) in screens {
            let seats = usize::from(self.layout.seats);
            let (mut frames, mut bytes) = (Vec::new(), Vec::new());
            for chunk in screen.frames.chunks(64) {
                seen::encode(chunk, seats, &mut bytes);
                size += bytes.len();
                let decoded = seen::decode(&bytes, seats);
                frames.extend(decoded.map_err(|error| format!("seen: {error}"))?);
            }
            let record = EpisodeRecord {
                changes: &self.arbiter.changes,
                rows: &self.arbiter.archive,
            };
            let config = config(self.scenario, Some(seat));
            let world = (self.world)(None);
            let toy = |_: &str| Some(Box::new(Partner::new(false)) as Box<dyn Policy>);
            let digests = rebuild(config, world, toy, record, &frames)
                .map_err(|error| format!("seen: {error}"))?;
            let differs = digests
                .iter()
                .zip(&screen.digests)
                .position(|(a, b)| a != b);
            if let Some(number) = differs {
                return Err(format!(
                    "seen: frame {number} of seat {} showed something else: {:?}",
                    seat.0, frames[number]
                ));
            }
            shown += digests.len();
        }
        Ok((shown, size))
    }
}
