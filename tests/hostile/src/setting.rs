//! The match that is attacked: how many seats it has, how time goes by, and who beside the attacker is in it.

use std::time::Duration;

use anyhow::Context as _;
use futures_util::future::try_join_all;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::conduct::{Manners, Words};
use crate::player::Player;
use crate::study::Study;
use crate::victim::Victim;
use crate::world::World;

/// Turns of a match in turns: people choose once or twice a second.
const TURNS: u32 = 12;

/// How often a second liar looks at what the first one does.
const LOOKS: Duration = Duration::from_millis(250);

/// A kind of match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setting {
    /// Two seats, in ticks.
    Pair,
    /// Three seats, in ticks: two honest people and a liar.
    TwoHonest,
    /// Three seats, in ticks: an honest person and two liars, who agree.
    TwoLiars,
    /// Two seats, in turns: everybody chooses at the same time.
    Turns,
    /// The same with two honest people and a liar.
    TurnsTwoHonest,
    /// The same with an honest person and two liars.
    TurnsTwoLiars,
    /// Two seats, in ticks; the server alone steps the world.
    Host,
    /// The same with an honest person and two liars.
    HostTwoLiars,
    /// Two honest people and a liar, who choose one after the other; the server alone steps the world.
    HostInOrder,
}

impl Setting {
    /// Every kind of match.
    pub(crate) const ALL: [Self; 9] = [
        Self::Pair,
        Self::TwoHonest,
        Self::TurnsTwoLiars,
        Self::Host,
        Self::Turns,
        Self::TwoLiars,
        Self::HostInOrder,
        Self::TurnsTwoHonest,
        Self::HostTwoLiars,
    ];

    /// Those in which pages tell each other their inputs.
    pub(crate) const WITH_DATAGRAMS: [Self; 6] = [
        Self::Pair,
        Self::TwoHonest,
        Self::Turns,
        Self::TwoLiars,
        Self::TurnsTwoHonest,
        Self::TurnsTwoLiars,
    ];

    /// True if a tick goes by once everybody has chosen.
    pub(crate) fn is_in_turns(self) -> bool {
        matches!(
            self,
            Self::Turns | Self::TurnsTwoHonest | Self::TurnsTwoLiars | Self::HostInOrder
        )
    }

    /// True if the server alone steps the world.
    pub(crate) fn is_hosted(self) -> bool {
        matches!(self, Self::Host | Self::HostTwoLiars | Self::HostInOrder)
    }

    /// Honest people, and liars beside the attacker.
    fn people(self) -> (usize, usize) {
        match self {
            Self::Pair | Self::Turns | Self::Host => (1, 0),
            Self::TwoHonest | Self::TurnsTwoHonest | Self::HostInOrder => (2, 0),
            Self::TwoLiars | Self::TurnsTwoLiars | Self::HostTwoLiars => (1, 1),
        }
    }

    /// A number of ticks: where people take turns, as many of these as take about as long at ten ticks a second.
    pub(crate) fn ticks(self, ticks: u32) -> u32 {
        match self.is_in_turns() {
            true => ticks / 10,
            false => ticks,
        }
    }

    /// The study of such a match.
    pub(crate) fn study(self, horizon: u32, tick_hz: u32) -> Study {
        let (honest, liars) = self.people();
        let seats = 1 + honest + liars;
        let horizon = match self.is_in_turns() {
            true => TURNS,
            false => horizon,
        };
        let env = match self {
            Self::HostInOrder => format!(
                "env: hanabi@1.0.0
    config: {{seats: {seats}}}"
            ),
            _ if seats == 2 => format!(
                "env: overcooked@2.0.0
    config: {{layout: cramped_room, horizon: {horizon}, tick_hz: {tick_hz}}}"
            ),
            _ => format!(
                "env: overcooked@2.0.0
    config: {{layout: [\"CCUCUCC\", \"O+   +C\", \"C  C  =\", \"O  +  C\", \"CC=C@CC\"], seats: {seats}, rules: corrected, horizon: {horizon}, tick_hz: {tick_hz}}}"
            ),
        };
        let players = ["self"].into_iter().chain(vec!["partner"; seats - 1]);
        let players = players.collect::<Vec<_>>().join(", ");
        let host = if self.is_hosted() {
            "\n    run: host"
        } else {
            ""
        };
        let mode = match self.is_in_turns() {
            true => "\n    mode: turns\n    turn_limit_s: 4",
            false => "",
        };
        let mut study = Study::pair(horizon, tick_hz);
        study.stages = format!(
            "  - {{id: lobby, type: lobby, group_size: {seats}, timeout_s: 120, on_timeout: leave}}
  - id: play
    type: env
    {env}{host}{mode}
    players: [{players}]
    countdown_s: 1
    on_disconnect: {{grace_s: 5}}
"
        );
        study
    }
}

/// The conduct of a second liar, which the first one decides.
#[derive(Clone, Copy, Debug)]
struct Orders {
    manners: Manners,
    words: Words,
    /// The seat that it calls silent, again and again.
    accuses: Option<usize>,
}

/// Everybody in an attacked match beside the attacker.
pub(crate) struct Company {
    pub victims: Vec<Victim>,
    /// The seats of other liars.
    pub liars: Vec<usize>,
    orders: watch::Sender<Orders>,
    /// Other liars, who stop when this is dropped.
    allies: JoinSet<()>,
}

impl From<Vec<Victim>> for Company {
    fn from(victims: Vec<Victim>) -> Self {
        let orders = Orders {
            manners: Manners::HONEST,
            words: Words::HONEST,
            accuses: None,
        };
        Self {
            victims,
            liars: Vec::new(),
            orders: watch::Sender::new(orders),
            allies: JoinSet::new(),
        }
    }
}

impl From<Victim> for Company {
    fn from(victim: Victim) -> Self {
        vec![victim].into()
    }
}

impl Company {
    /// Brings everybody in, and waits for the start: honest people of a kind first, or liars. The key is what the attacker
    /// says is its own, if that is another.
    pub(crate) async fn gather(
        world: &mut World,
        setting: Setting,
        (who, is_first): (&str, bool),
        key: Option<[u8; 32]>,
    ) -> anyhow::Result<(Player, Self)> {
        let (honest, liars) = setting.people();
        let (mut victims, mut pages) = (Vec::new(), Vec::new());
        for is_honest in [is_first, !is_first] {
            if is_honest {
                for _ in 0..honest {
                    victims.push(world.victim(who).await?);
                }
            } else {
                pages.push(world.attacker_with(key).await?);
                for _ in 0..liars {
                    pages.push(world.attacker().await?);
                }
            }
        }
        let mut players = try_join_all(pages.into_iter().map(Player::await_start)).await?;
        let mut company = Self::from(victims);
        for ally in players.split_off(1) {
            company.liars.push(ally.me());
            let orders = company.orders.subscribe();
            company.allies.spawn(follow(ally, orders));
        }
        let player = players.pop().context("the attacker is in")?;
        Ok((player, company))
    }

    /// Other liars do from now on as the attacker does.
    pub(crate) fn join_in(&self, attacker: &Player, accuses: Option<usize>) {
        self.orders.send_replace(Orders {
            manners: attacker.manners,
            words: attacker.words,
            accuses,
        });
    }

    /// The seats of honest people.
    pub(crate) fn honest_seats(&self, attacker: &Player) -> Vec<usize> {
        let seats = 0..attacker.plan.controllers.len();
        let is_honest = |seat: &usize| *seat != attacker.me() && !self.liars.contains(seat);
        seats.filter(is_honest).collect()
    }
}

/// A second liar takes part to the end, by its orders.
async fn follow(mut ally: Player, orders: watch::Receiver<Orders>) {
    while ally.end.is_none() && !ally.is_closed {
        let told = *orders.borrow();
        (ally.manners, ally.words) = (told.manners, told.words);
        let accused = told.accuses.filter(|_| ally.ended.is_none());
        let goes_on = async {
            if let Some(seat) = accused {
                ally.claim_silence(seat, true).await?;
            }
            ally.run(LOOKS).await
        };
        // Once its connection is gone, it has nothing more to say.
        if goes_on.await.is_err() {
            return;
        }
    }
}
