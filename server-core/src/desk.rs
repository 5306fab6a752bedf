//! Orders of a researcher at the dashboard, and the reasons for a refusal: plain data.
//!
//! [`crate::arbiter::Arbiter::handle_order`] carries an order out. It must not know how an order comes, or who may give it.

mod message;

use serde::{Deserialize, Serialize};
use study::Outcome;

pub use message::{Audience, CheckText, DeskMessageText, clean_desk_text, is_expected_answer};

/// The state of recruitment: new people can enter the study, or not. People who are in it continue in every state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecruitmentState {
    /// New people begin, as long as there is a place.
    #[default]
    Open,
    /// New people are asked to come back later.
    Paused,
    /// New people immediately end with the outcome `study_full`.
    Closed,
}

impl RecruitmentState {
    /// Every state with its name and its number in the database.
    pub const ALL: [(&'static str, u8, Self); 3] = [
        ("open", 0, Self::Open),
        ("paused", 1, Self::Paused),
        ("closed", 2, Self::Closed),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL[usize::from(self.number())].0
    }

    /// Its number in the database.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The state with this number; open if there is none.
    pub fn of_number(number: u8) -> Self {
        let mut all = Self::ALL.into_iter();
        let found = all.find(|(_, known, _)| *known == number);
        found.map_or(Self::Open, |(_, _, state)| state)
    }
}

/// Another bonus than the study computes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BonusChange {
    /// In the smallest unit of the currency.
    pub bonus: u64,
    /// Why, for the tables.
    pub reason: String,
}

/// Something that a researcher wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeskOrder {
    /// Open, pause or close recruitment.
    SetRecruitment(RecruitmentState),
    /// Want as many units: one number in all, or one for each treatment, as the study has it.
    SetPlaces(Vec<u32>),
    /// Give somebody who waits in a lobby their waiting time again.
    WaitLonger {
        /// Pseudonym.
        participant: String,
    },
    /// Let somebody who waits in a lobby continue with the AI partner of that lobby.
    ContinueAlone {
        /// Pseudonym.
        participant: String,
    },
    /// Move somebody who waits in a lobby to another room of it, whose people have other levels.
    MoveToRoom {
        /// Pseudonym.
        participant: String,
        /// The name of the room: the levels that its people share, with slashes between.
        room: String,
    },
    /// End somebody's part in the study. They are paid by the rule of the outcome.
    EndSession {
        /// Pseudonym.
        participant: String,
        /// Its outcome.
        outcome: Outcome,
    },
    /// Change the bonus of somebody whose part has ended; the total changes by as much.
    CorrectBonus {
        /// Pseudonym.
        participant: String,
        /// The new bonus, in the smallest unit of the currency.
        bonus: u64,
        /// Why, for the tables.
        reason: String,
    },
    /// Give the seat of somebody in a running episode to the AI partner of the stage, and end their part.
    GiveSeat {
        /// Pseudonym.
        participant: String,
        /// Their outcome.
        outcome: Outcome,
        /// Their bonus, if it is not the one of the outcome.
        bonus: Option<BonusChange>,
    },
    /// Write to participants, or ask one of them a question with a time limit.
    WriteMessage {
        /// The readers.
        to: Audience,
        /// The words.
        message: DeskMessageText,
    },
    /// Say that the messages of a participant before a number are read. It changes nothing for anybody.
    ReadMessages {
        /// Pseudonym.
        participant: String,
        /// The number, in the exchange with the participant.
        before: u32,
    },
}

impl DeskOrder {
    /// Its name in the tables.
    pub fn name(&self) -> &'static str {
        match self {
            Self::SetRecruitment(_) => "set_recruitment",
            Self::SetPlaces(_) => "set_places",
            Self::WaitLonger { .. } => "wait_longer",
            Self::ContinueAlone { .. } => "continue_alone",
            Self::MoveToRoom { .. } => "move_to_room",
            Self::EndSession { .. } => "end_session",
            Self::CorrectBonus { .. } => "correct_bonus",
            Self::GiveSeat { .. } => "give_seat",
            Self::WriteMessage { message, .. } if message.check.is_some() => "check_attention",
            Self::WriteMessage { .. } => "write_message",
            Self::ReadMessages { .. } => "read_messages",
        }
    }

    /// Pseudonym of the person that it is about.
    pub fn participant(&self) -> Option<&str> {
        match self {
            Self::SetRecruitment(_) | Self::SetPlaces(_) => None,
            Self::WriteMessage { to, .. } => match to {
                Audience::Participant(participant) => Some(participant),
                Audience::Group(_) | Audience::Everybody => None,
            },
            Self::WaitLonger { participant }
            | Self::ContinueAlone { participant }
            | Self::MoveToRoom { participant, .. }
            | Self::EndSession { participant, .. }
            | Self::CorrectBonus { participant, .. }
            | Self::GiveSeat { participant, .. }
            | Self::ReadMessages { participant, .. } => Some(participant),
        }
    }

    /// True if it does something to the study or to somebody, which the audit trail has then.
    pub fn is_intervention(&self) -> bool {
        !matches!(self, Self::ReadMessages { .. })
    }

    /// The new value, in words for the tables; empty if its name says everything.
    pub fn detail(&self) -> String {
        match self {
            Self::SetRecruitment(state) => state.name().to_owned(),
            Self::SetPlaces(places) => {
                let places: Vec<String> = places.iter().map(ToString::to_string).collect();
                places.join(", ")
            }
            Self::WaitLonger { .. } | Self::ContinueAlone { .. } | Self::ReadMessages { .. } => {
                String::new()
            }
            Self::MoveToRoom { room, .. } => room.clone(),
            // The words are with the messages, from which they can be erased.
            Self::WriteMessage { to, .. } => to.detail(),
            Self::EndSession { outcome, .. } => outcome.name().to_owned(),
            Self::CorrectBonus { bonus, reason, .. } => format!("{bonus}: {reason}"),
            Self::GiveSeat { outcome, bonus, .. } => match bonus {
                None => outcome.name().to_owned(),
                Some(BonusChange { bonus, reason }) => {
                    format!("{}, bonus {bonus}: {reason}", outcome.name())
                }
            },
        }
    }
}

/// The reason why an order is not carried out. Nothing has changed then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderRefused {
    /// There is no such session.
    #[error("there is no participant {0} in this study; the dashboard lists the pseudonyms")]
    UnknownParticipant(String),
    /// The person is not waiting in a lobby.
    #[error("{0} does not wait in a lobby now; they may have been matched, or have left")]
    NotWaiting(String),
    /// Nothing follows when the time of the lobby is up.
    #[error("the lobby `{0}` has `on_timeout: wait`, so people already wait without a limit there")]
    EndlessLobby(String),
    /// The lobby has no AI partner.
    #[error(
        "the lobby `{0}` has no AI partner, so nobody can go on alone there; end the session with an outcome instead"
    )]
    NoPartner(String),
    /// Everybody who waits in the lobby waits in one room.
    #[error(
        "everybody in the lobby `{0}` waits in one room: its people share no factor of participants whose level could change"
    )]
    OneRoom(String),
    /// The lobby has no such room.
    #[error("the lobby `{lobby}` has no room `{room}`; its rooms are {rooms}")]
    NoSuchRoom {
        /// Id of the lobby.
        lobby: String,
        /// The name that was given.
        room: String,
        /// Names of rooms that there are.
        rooms: String,
    },
    /// The person waits for their earlier group, or for an AI partner.
    #[error(
        "{0} cannot change rooms: they wait for their earlier group, or for an AI partner that the study has drawn for them"
    )]
    BoundToRoom(String),
    /// The person waits in this room.
    #[error("{0} waits in this room already")]
    SameRoom(String),
    /// The level of a factor has to stay.
    #[error(
        "{participant} keeps the level of `{factor}`: the study has used it on the way to this lobby, so another one would \
         mix two treatments; choose a room with the same level"
    )]
    LevelInUse {
        /// Pseudonym.
        participant: String,
        /// The factor.
        factor: String,
    },
    /// All wanted units of a treatment are there.
    #[error(
        "the treatment of the room `{0}` has no place left; want more of it first, or choose another room"
    )]
    NoPlaceInTreatment(String),
    /// The room holds no more people.
    #[error("as many people wait in the room `{0}` as it holds; try again once some are matched")]
    RoomFull(String),
    /// The session is over.
    #[error("the session of {0} has already ended, with the outcome `{1}`")]
    Ended(String, &'static str),
    /// The session is not over.
    #[error(
        "{0} is still under way, so there is no bonus to correct; end the session first, or wait for its end"
    )]
    UnderWay(String),
    /// Nobody is sent out with this outcome.
    #[error("a researcher cannot end a session as `{0}`; choose {1}")]
    WrongOutcome(&'static str, String),
    /// The study pays nothing.
    #[error(
        "the study has no `currency` in its block `recruitment`, so it pays nothing that could be corrected"
    )]
    NoPay,
    /// The amount is too large.
    #[error("a bonus can be at most {0} of the smallest unit of the currency")]
    TooMuch(u64),
    /// The data of the person are erased.
    #[error("the data of {0} are erased and cannot change")]
    Erased(String),
    /// Not as many numbers as the study has treatments.
    #[error("expected {expected} as places (numbers given: {found}): {why}")]
    WrongPlaces {
        /// The expected number.
        expected: String,
        /// The number found.
        found: usize,
        /// The reason.
        why: &'static str,
    },
    /// The person does not play now.
    #[error("{0} does not play in a running episode now; it may be over, or not have begun")]
    NotPlaying(String),
    /// The stage has no AI partner for the seats of people.
    #[error(
        "the stage `{0}` has no AI partner that could take a seat: its `on_disconnect` names none; end the session instead"
    )]
    NoSeatPartner(String),
    /// Nobody else's page plays the episode.
    #[error(
        "nobody else plays in the episode of {0} now, so an AI partner would play for nobody; end the session instead"
    )]
    PlaysAlone(String),
    /// There is no such group.
    #[error(
        "there is no group {0} in this study; the dashboard names the groups of running episodes"
    )]
    UnknownGroup(String),
    /// Nobody is there who could read a message.
    #[error("nobody is there who could read it: everybody has ended, or none has begun")]
    NobodyReads,
    /// The text is empty or too long.
    #[error(
        "write a text of 1 to {} characters, without control characters",
        protocol::control::MAX_DESK_TEXT
    )]
    WrongText,
    /// The terms of a question are wrong.
    #[error("this question cannot be asked: {0}")]
    WrongCheck(String),
    /// Somebody has no open page.
    #[error(
        "{0} has no open page now, and would miss the question; ask once they are back, or write a message"
    )]
    NoPage(String),
    /// Nobody can write to participants here.
    #[error("this study runs without a server's dashboard, so participants get no messages")]
    NoDesk,
    /// The server is stopping.
    #[error("the server is stopping; try again once it runs")]
    Stopping,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_of_recruitment_is_found_by_its_number() {
        for (name, number, state) in RecruitmentState::ALL {
            assert_eq!((state.name(), state.number()), (name, number));
            assert_eq!(RecruitmentState::of_number(number), state);
        }
        assert_eq!(RecruitmentState::of_number(9), RecruitmentState::Open);
    }
}
