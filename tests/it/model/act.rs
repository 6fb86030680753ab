//! One thing that happens between two states, and its words in a path.

use std::fmt;

use super::{
    machine::Ev,
    world::{Answer, Said, Seen},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    Tick,
    ClockJumps(i8),
    // People.
    Tap { by: u8, label: u8 },
    Arrives(u8),
    ArrivesAgain(u8),
    Reads { replica: u8, update: u8 },
    Applies { replica: u8, update: u8 },
    HandlerDies(u8),
    Edits(u8),
    Cancels(u8),
    Decides { op: u8, what: Ev },
    MakesByHand { op: u8 },
    // Our side of the CRM.
    Claims { worker: u8, op: u8 },
    Writes { worker: u8 },
    LeaseIsOver { worker: u8 },
    CannotConnect { worker: u8 },
    FitsNoRequest { worker: u8 },
    GivesUp { worker: u8 },
    Records { worker: u8, answer: Answer },
    RecordsTwice { worker: u8, answer: Answer },
    Looks { worker: u8, op: u8, seen: Seen },
    RecordsLook { worker: u8 },
    Checks { worker: u8, op: u8, stands: Option<bool> },
    RecordsCheck { worker: u8 },
    Tells { worker: u8, op: u8, what: Ev },
    WorkerDies(u8),
    // The CRM and the wire.
    CarriesOut { attempt: u8, answer: Answer, heard: bool },
    HeldTooLong { attempt: u8 },
    // The outbox and Telegram.
    IsOvertaken { sender: u8, row: u8 },
    ClaimsRow { sender: u8, row: u8 },
    WritesRow { sender: u8 },
    RowLeaseIsOver { sender: u8 },
    RowCannotConnect { sender: u8 },
    RowGivesUp { sender: u8 },
    RecordsRow { sender: u8, said: Said },
    RowTime { sender: u8, row: u8 },
    SenderDies(u8),
    Shows { row: u8, said: Said, heard: bool },
    CardVanishes { op: u8 },
    RowDecided { row: u8, again: bool },
}

impl Act {
    /// Whether it is bad luck: what must not be needed for things to come to an end.
    pub(crate) fn is_bad_luck(self) -> bool {
        matches!(
            self,
            Self::ClockJumps(_)
                | Self::ArrivesAgain(_)
                | Self::HandlerDies(_)
                | Self::CannotConnect { .. }
                | Self::FitsNoRequest { .. }
                | Self::RecordsTwice { .. }
                | Self::WorkerDies(_)
                | Self::CarriesOut { heard: false, .. }
                | Self::HeldTooLong { .. }
                | Self::RowCannotConnect { .. }
                | Self::SenderDies(_)
                | Self::Shows { heard: false, .. }
                | Self::CardVanishes { .. }
        )
    }
}

fn label(n: u8) -> String {
    format!("version {} of person {}", n % 2 + 1, n / 2 + 1)
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Tick => write!(f, "time passes"),
            Self::ClockJumps(to) => write!(f, "replica 2's clock jumps to {to:+}"),
            Self::Tap { by, label: l } => write!(f, "person {} taps «send» on {}", by + 1, label(l)),
            Self::Arrives(u) => write!(f, "update {} is stored", u + 1),
            Self::ArrivesAgain(u) => write!(f, "update {} is delivered again", u + 1),
            Self::Reads { replica, update } => write!(f, "replica {} takes update {}", replica + 1, update + 1),
            Self::Applies { replica, update } => write!(f, "replica {} commits update {}", replica + 1, update + 1),
            Self::HandlerDies(r) => write!(f, "replica {} dies while handling", r + 1),
            Self::Edits(p) => write!(f, "person {} edits and sees the next summary", p + 1),
            Self::Cancels(o) => write!(f, "the person cancels operation {}", o + 1),
            Self::Decides { op, what } => write!(f, "staff decide on operation {}: {what:?}", op + 1),
            Self::MakesByHand { op } => write!(f, "staff make a ticket for operation {} by hand and name it", op + 1),
            Self::Claims { worker, op } => write!(f, "worker {} claims operation {}", worker + 1, op + 1),
            Self::Writes { worker } => write!(f, "worker {} writes the call", worker + 1),
            Self::LeaseIsOver { worker } => write!(f, "worker {} finds its lease over and does not write", worker + 1),
            Self::CannotConnect { worker } => write!(f, "worker {} cannot connect", worker + 1),
            Self::FitsNoRequest { worker } => write!(f, "worker {} can make no request of it", worker + 1),
            Self::GivesUp { worker } => write!(f, "worker {} hears nothing and gives up", worker + 1),
            Self::Records { worker, answer } => write!(f, "worker {} records {answer:?}", worker + 1),
            Self::RecordsTwice { worker, answer } => {
                write!(f, "worker {} records {answer:?} and will do so again", worker + 1)
            }
            Self::Looks { worker, op, seen } => {
                write!(f, "worker {} looks for operation {} in the CRM: {seen:?}", worker + 1, op + 1)
            }
            Self::RecordsLook { worker } => write!(f, "worker {} records what it saw", worker + 1),
            Self::Checks { worker, op, stands } => {
                write!(f, "worker {} checks the number named for operation {}: {stands:?}", worker + 1, op + 1)
            }
            Self::RecordsCheck { worker } => write!(f, "worker {} records the check", worker + 1),
            Self::Tells { worker, op, what } => write!(f, "worker {} tells operation {}: {what:?}", worker + 1, op + 1),
            Self::WorkerDies(w) => write!(f, "worker {} dies", w + 1),
            Self::CarriesOut { attempt, answer, heard } => {
                let heard = if heard { "and is heard" } else { "and nobody hears it" };
                write!(f, "the CRM takes attempt {attempt}, answers {answer:?} {heard}")
            }
            Self::HeldTooLong { attempt } => write!(f, "attempt {attempt} is held longer than declared"),
            Self::IsOvertaken { sender, row } => {
                write!(f, "sender {} leaves row {} to a newer one", sender + 1, row + 1)
            }
            Self::ClaimsRow { sender, row } => write!(f, "sender {} claims row {}", sender + 1, row + 1),
            Self::WritesRow { sender } => write!(f, "sender {} writes the call", sender + 1),
            Self::RowLeaseIsOver { sender } => write!(f, "sender {} finds its lease over, does not write", sender + 1),
            Self::RowCannotConnect { sender } => write!(f, "sender {} cannot connect", sender + 1),
            Self::RowGivesUp { sender } => write!(f, "sender {} hears nothing and gives up", sender + 1),
            Self::RecordsRow { sender, said } => write!(f, "sender {} records {said:?}", sender + 1),
            Self::RowTime { sender, row } => {
                write!(f, "sender {} tells row {} that its time is up", sender + 1, row + 1)
            }
            Self::SenderDies(s) => write!(f, "sender {} dies", s + 1),
            Self::Shows { row, said, heard } => {
                let heard = if heard { "and is heard" } else { "and nobody hears it" };
                write!(f, "Telegram takes row {}, answers {said:?} {heard}", row + 1)
            }
            Self::CardVanishes { op } => write!(f, "the card of operation {} is deleted in the chat", op + 1),
            Self::RowDecided { row, again } => write!(f, "staff decide on row {}: again = {again}", row + 1),
        }
    }
}
