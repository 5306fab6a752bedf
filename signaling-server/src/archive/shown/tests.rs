use std::collections::VecDeque;

use protocol::control::{Timing, Upload};
use protocol::log::Header;
use protocol::{Controller, Tick};
use rollback::Session;

use super::super::tests::{PERSON, ZERO, header, log_of, no_modules, part, played};
use super::super::{Episode, Replica};
use super::*;

/// What the page of a seat uploads of a whole episode, and the digest of every frame that it showed.
pub(crate) struct Page {
    pub(crate) upload: Upload,
    pub(crate) shown: Vec<u64>,
    pub(crate) simulated: Vec<u64>,
}

struct Peer {
    session: Session<Box<dyn World + Send>>,
    frames: Vec<Frame>,
    page: Page,
}

fn peer(header: &Header, seat: Seat) -> Peer {
    let config = Config {
        era: Era(1),
        local: Some(seat),
        controllers: header.controllers.clone(),
        seed: header.seed,
        tick_hz: header.tick_hz,
        input_delay: header.input_delay,
        window: 16,
        t0_us: header.t0_us,
        rules: header.rules.clone(),
    };
    let world = env_core::envs::open(&header.env, &header.params).unwrap();
    let partners = header
        .controllers
        .iter()
        .map(|controller| match controller {
            Controller::Ai { policy } => policy::by_name(policy, world.spec()),
            Controller::Human | Controller::Vacant => None,
        });
    let partners = partners.collect();
    Peer {
        session: Session::new(config, world, partners),
        frames: Vec::new(),
        page: Page {
            upload: part(&played(header), 0, 0),
            shown: Vec::new(),
            simulated: Vec::new(),
        },
    }
}

impl Peer {
    fn show(&mut self, at_ms: u32) {
        self.page.simulated.push(self.session.world().digest());
        let shown = &mut self.page.shown;
        self.session.preview(|world| shown.push(world.digest()));
        self.frames.push(self.session.seen(at_ms, false));
    }

    fn finish(mut self, seats: usize) -> Page {
        let (mut seen, upload) = (Vec::new(), &mut self.page.upload);
        seen::encode(&self.frames, seats, &mut seen);
        upload.timing = Some(Timing {
            seen,
            ..Timing::default()
        });
        upload.rows = self.session.rows().to_vec();
        upload.digests = self.session.digests().to_vec();
        upload.ended = self.session.ended();
        self.page
    }
}

/// Two people whose packets take 0.6 s play a whole episode and change their actions all the time.
pub(crate) fn two_pages(header: &Header) -> [Page; 2] {
    let mut peers = [ZERO, Seat(1)].map(|seat| peer(header, seat));
    let mut flying: VecDeque<(u32, Seat, Vec<u8>)> = VecDeque::new();
    for at_ms in (0..).step_by(50) {
        let now_us = header.t0_us + u64::from(at_ms) * 1_000;
        while flying.front().is_some_and(|(due, ..)| *due <= at_ms) {
            let (_, to, bytes) = flying.pop_front().unwrap();
            let session = &mut peers[to.index()].session;
            session
                .handle_datagram(now_us, Seat(1 - to.0), &bytes)
                .unwrap();
        }
        for (index, peer) in peers.iter_mut().enumerate() {
            let wanted = (at_ms / 350 + 2 * index as u32) % 5;
            peer.session.handle_action(now_us, wanted as u16);
            peer.session.handle_timeout(now_us);
            while let Some(packet) = peer.session.poll_transmit() {
                flying.push_back((at_ms + 600, packet.to, packet.bytes.to_vec()));
            }
            while peer.session.poll_event().is_some() {}
            peer.show(at_ms);
        }
        if peers.iter().all(|peer| peer.session.finished()) {
            break;
        }
        assert!(at_ms < 100_000, "the episode does not end");
    }
    assert!(peers.iter().all(|peer| peer.session.stats().rollbacks > 5));
    peers.map(|peer| peer.finish(header.controllers.len()))
}

#[test]
fn every_frame_is_rebuilt_as_it_was_shown() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 40);
    let pages = two_pages(&header);
    let mut episode = Episode::create(dir.path(), header).unwrap();
    for (seat, page) in (0..).map(Seat).zip(&pages) {
        assert!(!episode.absorb(seat, &page.upload).unwrap().diverged);
    }
    let log = log_of(&mut episode);
    let screens = Screens::new(&log);
    let mut rebuilt = Vec::new();
    for found in screens.pages(no_modules).unwrap() {
        assert_eq!(
            (found.seat, found.life),
            (Seat(rebuilt.len() as u8), Life(0))
        );
        let frames: Result<Vec<Rebuilt>, String> = found.frames.collect();
        rebuilt.push(frames.unwrap());
    }
    assert_eq!(rebuilt.len(), 2);
    for (frames, page) in rebuilt.iter().zip(&pages) {
        let digests = |of: fn(&Rebuilt) -> u64| frames.iter().map(of).collect::<Vec<_>>();
        assert_eq!(digests(|frame| frame.simulated), page.simulated);
        assert_eq!(digests(|frame| frame.shown), page.shown);
        let ahead = frames.iter().filter(|frame| frame.frame.ahead > 0);
        assert!(ahead.count() > 100);
    }
    // What the two saw was not always what came of it: that is what the log of frames is for.
    let mut replica = Replica::open(episode.header(), no_modules).unwrap();
    let rows = episode.rows.chunks(2);
    rows.for_each(|row| replica.step(row).unwrap());
    let wrong = rebuilt[0]
        .iter()
        .filter(|frame| replica.digest(frame.frame.tick) != Some(frame.simulated));
    assert!(wrong.count() > 10);
}

#[test]
fn what_cannot_have_been_shown_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 40);
    let noted = |frames: &[Frame], damage: bool| {
        let mut seen = Vec::new();
        seen::encode(frames, 2, &mut seen);
        if damage {
            seen.truncate(seen.len() - 2);
        }
        let mut upload = part(&played(&header), 0, 8);
        upload.timing = Some(Timing {
            seen,
            ..Timing::default()
        });
        let folder = tempfile::tempdir_in(dir.path()).unwrap();
        let mut episode = Episode::create(folder.path(), header.clone()).unwrap();
        episode.absorb(ZERO, &upload).unwrap();
        let log = log_of(&mut episode);
        let screens = Screens::new(&log);
        let mut found = screens.pages(no_modules).unwrap();
        found
            .remove(0)
            .frames
            .collect::<Result<Vec<Rebuilt>, String>>()
    };
    let frame = |tick: u32, have: u32| Frame {
        tick: Tick(tick),
        have: vec![Tick(have); 2],
        fresh: vec![Vec::new(); 2],
        ..Frame::default()
    };
    assert_eq!(noted(&[frame(3, 3)], false).unwrap().len(), 1);
    for (frames, damage, words) in [
        (vec![frame(3, 3)], true, "malformed seen-log"),
        (vec![frame(9, 9)], false, "no input of seat 0 for tick 8"),
        (vec![frame(3, 3), frame(90, 8)], false, "does not follow"),
        (
            vec![Frame {
                changes: 1,
                ..frame(3, 3)
            }],
            false,
            "change 0",
        ),
    ] {
        let error = noted(&frames, damage).unwrap_err();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn frames_are_rebuilt_one_by_one_until_something_cannot_be_so() {
    let dir = tempfile::tempdir().unwrap();
    let header = header([PERSON, PERSON], 40);
    let mut episode = Episode::create(dir.path(), header.clone()).unwrap();
    let frames = |count: usize| {
        let frame = Frame {
            have: vec![Tick(0); 2],
            fresh: vec![Vec::new(); 2],
            ..Frame::default()
        };
        let mut seen = Vec::new();
        seen::encode(&vec![frame; count], 2, &mut seen);
        seen
    };
    // The last chunk would be a great many frames in a few bytes.
    let bomb = frames(300_000);
    assert!(bomb.len() < 400_000);
    for (number, seen) in [frames(3), frames(seen::MAX_FRAMES), bomb]
        .into_iter()
        .enumerate()
    {
        let mut upload = part(&played(&header), 0, 8);
        upload.timing = Some(Timing {
            number: number as u32,
            seen,
            ..Timing::default()
        });
        episode.absorb(ZERO, &upload).unwrap();
    }
    let log = log_of(&mut episode);
    let screens = Screens::new(&log);
    let page = screens.pages(no_modules).unwrap().remove(0);
    let found: Vec<_> = page.frames.collect();
    let (last, fine) = found.split_last().unwrap();
    assert!(fine.iter().all(Result::is_ok));
    assert_eq!(fine.len(), 3 + seen::MAX_FRAMES);
    assert_eq!(last.as_ref().unwrap_err(), "malformed seen-log");
}
