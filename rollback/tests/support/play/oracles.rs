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
        if confirmed < peer.confirmed {
            return Err(format!(
                "retraction: {} confirmed, then {confirmed}",
                peer.confirmed
            ));
        }
        let deepest = u32::from(session.stats().max_depth);
        if confirmed > current || current - confirmed > window || deepest > window {
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
        if now_us >= peer.second.0 + 1_000_000 {
            self.fastest = self.fastest.max(current.saturating_sub(peer.second.1));
            peer.second = (now_us, current);
        }
        self.watch_receipts(at)?;
        self.watch_log(at)
    }

    /// Confirmed is what everyone has, and has said so.
    fn watch_receipts(&self, at: usize) -> Result<(), String> {
        let Some(session) = &self.peers[at].session else {
            return Ok(());
        };
        let (seat, confirmed) = (self.peers[at].seat.index(), session.confirmed().0);
        // Who knows less than the server may still count on a page that is gone; the log shows what comes of it.
        if usize::from(session.changes()) < self.arbiter.changes.len() {
            return Ok(());
        }
        let people = || 0..usize::from(self.layout.seats);
        for from in people().filter(|&from| from != seat && self.arbiter.is_person(from)) {
            for of in people().filter(|&of| of != from) {
                let begun = self.arbiter.start(from).max(session.first_tick().0);
                let first = self.told[from][of].max(begun);
                if (first..confirmed).any(|tick| self.arbiter.awaits(of, tick)) {
                    return Err(format!(
                        "receipts: seat {seat} confirmed {confirmed} without seat {from} for seat {of}"
                    ));
                }
            }
        }
        Ok(())
    }

    /// One log and one row of digests: what anyone confirms first must be what everyone confirms.
    fn watch_log(&mut self, at: usize) -> Result<(), String> {
        let seats = self.scenario.controllers.len();
        let peer = &mut self.peers[at];
        let Some(session) = peer.session.as_ref().filter(|_| peer.is_member) else {
            return Ok(());
        };
        let first = peer.confirmed as usize * seats;
        let skipped = session.first_tick().0 as usize * seats;
        for (cell, &action) in (first..).zip(&session.rows()[first - skipped..]) {
            match self.log.get(cell) {
                None => self.log.push(action),
                Some(&known) if known == action => {}
                Some(&known) => {
                    let (tick, seat) = (cell / seats, cell % seats);
                    return Err(format!(
                        "log: tick {tick} seat {seat} is {known} and {action}"
                    ));
                }
            }
        }
        let before = self
            .digests
            .partition_point(|(tick, _)| *tick <= session.first_tick());
        for (number, &digest) in (before..)
            .zip(session.digests())
            .skip(peer.digests - before)
        {
            match self.digests.get(number) {
                None => self.digests.push(digest),
                Some(&known) if known == digest => {}
                Some(known) => return Err(format!("digest: {known:?} and {digest:?}")),
            }
        }
        (peer.confirmed, peer.digests) = (session.confirmed().0, before + session.digests().len());
        Ok(())
    }

    /// The oracles that hold at the end.
    pub(super) fn judge(mut self) -> Result<Report, String> {
        let seats = self.scenario.controllers.len();
        let ticks = (self.log.len() / seats) as u32;
        for peer in &self.peers {
            let Some(session) = &peer.session else {
                continue;
            };
            let ends = (
                session.confirmed().0,
                session.ended(),
                session.current().0,
                peer.over_events,
            );
            if ends != (ticks, Some(Tick(ticks)), ticks, 1) {
                return Err(format!("end: {ends:?} of {ticks}"));
            }
            let first = session.first_tick();
            let before = self.digests.partition_point(|(tick, _)| *tick <= first);
            if session.rows() != &self.log[first.0 as usize * seats..]
                || session.digests() != &self.digests[before..]
            {
                return Err("retraction: something confirmed was changed later".into());
            }
            let stats = session.stats();
            if (stats.dropped - stats.refused.life, stats.equivocations) != (0, 0) {
                return Err(format!("honesty: {stats:?}"));
            }
            if self.arbiter.changes.is_empty() && stats.dropped > 0 {
                return Err(format!("honesty: {stats:?}"));
            }
        }
        let is_whole = self.sessions().next().is_some();
        self.replay(ticks, is_whole)?;
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
            log: std::mem::take(&mut self.log),
            changes: std::mem::take(&mut self.arbiter.changes),
            gap: self.gap,
            delay_ms: self.sessions().map(Session::delay_ms).max().unwrap_or(0),
            fastest: self.fastest,
            frames,
            seen_bytes,
        })
    }

    /// A fresh world, stepped through the log as the server does, and the partners asked again.
    fn replay(&mut self, ticks: u32, is_whole: bool) -> Result<(), String> {
        let seats = self.scenario.controllers.len();
        let mut world = (self.world)(None);
        let mut replica = Replica::new(&mut world, &self.arbiter, self.scenario.seed);
        let mut digests = Vec::new();
        for (row, tick) in self.log.chunks(seats).zip(1..) {
            let (over, differs) = replica.step(row);
            if let Some(seat) = differs {
                return Err(format!(
                    "replay: the partner on seat {seat} plays otherwise at tick {}",
                    tick - 1
                ));
            }
            if is_whole && over != (tick == ticks) {
                return Err(format!(
                    "replay: over is {over} after {tick} of {ticks} steps"
                ));
            }
            if over || tick % protocol::digest_ticks(self.scenario.tick_hz) == 0 {
                digests.push((Tick(tick), replica.world.digest()));
            }
        }
        if digests != self.digests {
            return Err("replay: other digests".into());
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
                rows: &self.log,
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
