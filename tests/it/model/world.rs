//! One state of the whole: two people and their drafts, updates, operations, two replicas, the CRM and the wire to it,
//! the outbox and Telegram. Small and flat, since the walk keeps millions of them.

/// Operations at most.
pub(crate) const OPS: usize = 3;
/// Create calls on the wire at most.
pub(crate) const CALLS: usize = 5;
/// Tickets in the CRM at most.
pub(crate) const TICKETS: usize = 6;
/// Taps at most.
pub(crate) const UPDATES: usize = 3;
/// Outbox rows at most; settled ones leave.
pub(crate) const ROWS: usize = 6;
/// Telegram calls on the wire at most.
pub(crate) const POSTS: usize = 3;

/// What happened to an operation, for the checks; none of it is known to the product.
pub(crate) mod flag {
    /// A human decided to create it after all, or made a ticket by hand.
    pub(crate) const EXCUSED: u8 = 1;
    /// A call was held longer than declared.
    pub(crate) const BEYOND: u8 = 2;
    /// Staff were told of a second ticket.
    pub(crate) const REPORTED: u8 = 4;
    /// A case is open.
    pub(crate) const CASE: u8 = 8;
    /// The place is taken.
    pub(crate) const SLOT: u8 = 16;
    /// Its newest card was deleted in the chat.
    pub(crate) const CARD_DELETED: u8 = 64;
    /// Something about its card was given up on: its text may be old.
    pub(crate) const CARD_GIVEN_UP: u8 = 128;
}

/// Who may be held up.
pub(crate) mod slow {
    /// A worker, by its number.
    pub(crate) const WORKER: u8 = 1;
    /// An outbox sender, by its number.
    pub(crate) const SENDER: u8 = 4;
    /// An update handler, by its number.
    pub(crate) const HANDLER: u8 = 16;
    /// Nobody takes up what is due.
    pub(crate) const DOWN: u8 = 64;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Op {
    /// Number in the machine's memory plus one; 0 = none.
    pub(crate) id: u32,
    /// Person × 2 + version − 1.
    pub(crate) label: u8,
    /// Attempt rows written.
    pub(crate) rows: u8,
    pub(crate) flags: u8,
    /// What the newest card row says.
    pub(crate) said: u8,
    /// What the newest card in the chat says.
    pub(crate) visible: u8,
    /// How many messages were made for its card.
    pub(crate) copies: u8,
    /// Which of them we know, and edit; 0 = none.
    pub(crate) known: u8,
    /// The newest of them that we were ever told of.
    pub(crate) heard: u8,
}

/// Where a draft stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) enum Phase {
    #[default]
    Absent,
    Summary,
    Frozen,
    Reopened,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Draft {
    pub(crate) version: u8,
    pub(crate) phase: Phase,
}

/// Where a tap stands on its way in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) enum Stage {
    #[default]
    None,
    Sent,
    Stored,
    Done,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Update {
    pub(crate) stage: Stage,
    pub(crate) by: u8,
    pub(crate) label: u8,
}

/// A replica's update handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) enum Handler {
    #[default]
    Idle,
    /// It has read the state: whether the operation was there.
    Read { update: u8, saw: bool },
    /// Only with a bug: the row is marked done, its effects are not stored yet.
    Marked { update: u8, saw: bool },
}

/// What a create call ended in, as the sender saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Answer {
    Created(u8),
    Refused,
    NotSent,
    Unfit,
    InFlight,
    Exists,
    Lost,
}

/// What a lookup showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Seen {
    Found(u8),
    Missed,
    Unsure,
}

/// A replica's CRM worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) enum Worker {
    #[default]
    Idle,
    Claimed {
        op: u8,
        attempt: u8,
        lease: i8,
    },
    Waiting {
        op: u8,
        attempt: u8,
    },
    Answered {
        op: u8,
        attempt: u8,
        answer: Answer,
    },
    Looked {
        op: u8,
        asked: i8,
        seen: Seen,
    },
    /// `None` = the CRM could not be asked.
    Checked {
        op: u8,
        number: u8,
        stands: Option<bool>,
        exists: bool,
    },
}

impl Worker {
    pub(crate) fn op(self) -> Option<u8> {
        match self {
            Self::Idle => None,
            Self::Claimed { op, .. }
            | Self::Waiting { op, .. }
            | Self::Answered { op, .. }
            | Self::Looked { op, .. }
            | Self::Checked { op, .. } => Some(op),
        }
    }
}

/// A create call on the wire; it may be carried out while `left` is above 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Call {
    pub(crate) left: u8,
    pub(crate) op: u8,
    pub(crate) attempt: u8,
    pub(crate) key: u8,
}

/// The key of a ticket that staff made by hand.
pub(crate) const BY_HAND: u8 = 99;

/// A ticket in the CRM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Made {
    /// Label plus one; 0 = none.
    pub(crate) label: u8,
    pub(crate) key: u8,
    pub(crate) age: u8,
}

/// An outbox row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Row {
    /// Number in the outbox's memory plus one; 0 = none.
    pub(crate) id: u32,
    pub(crate) op: u8,
    /// What it says.
    pub(crate) content: u8,
    /// Whether it makes or changes the card.
    pub(crate) card: bool,
    /// How often Telegram carried it out.
    pub(crate) shown: u8,
}

/// What a Telegram call ended in, as the sender saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Said {
    /// Which copy of its card it made or changed; 0 for other messages.
    Done(u8),
    NotSent,
    Throttled,
    Gone,
    ChatRefused,
    Lost,
}

/// A replica's outbox sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) enum Sender {
    #[default]
    Idle,
    Claimed {
        row: u8,
        attempt: u8,
        lease: i8,
        edits: u8,
    },
    Waiting {
        row: u8,
        attempt: u8,
    },
    Answered {
        row: u8,
        attempt: u8,
        said: Said,
    },
}

/// A Telegram call on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Post {
    pub(crate) left: u8,
    pub(crate) row: u8,
    pub(crate) attempt: u8,
    /// Which copy of the card it edits; 0 = it makes a new message.
    pub(crate) edits: u8,
}

/// How much of each kind may still go wrong or be done; 255 = any number of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Left {
    /// Bad luck of all kinds together.
    pub(crate) trouble: u8,
    pub(crate) slow: u8,
    pub(crate) crash: u8,
    pub(crate) lost: u8,
    pub(crate) refuse: u8,
    pub(crate) not_sent: u8,
    pub(crate) in_flight: u8,
    pub(crate) exists: u8,
    pub(crate) unsure: u8,
    pub(crate) doubled: u8,
    pub(crate) jump: u8,
    pub(crate) beyond: u8,
    pub(crate) staff: u8,
    pub(crate) tap: u8,
    pub(crate) foreign: u8,
    pub(crate) redeliver: u8,
    pub(crate) edit: u8,
    pub(crate) cancel: u8,
    pub(crate) vanish: u8,
    pub(crate) blocked: u8,
    pub(crate) post_lost: u8,
    pub(crate) post_crash: u8,
    pub(crate) post_not_sent: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct World {
    /// How far the second replica's clock is ahead.
    pub(crate) skew: i8,
    /// Who is held up, as bits: time passes although they have something in hand. See [`slow`].
    pub(crate) slow: u8,
    pub(crate) drafts: [Draft; 2],
    /// Which labels their own person tapped, as bits.
    pub(crate) tapped: u8,
    pub(crate) updates: [Update; UPDATES],
    pub(crate) handlers: [Handler; 2],
    pub(crate) ops: [Op; OPS],
    pub(crate) workers: [Worker; 2],
    pub(crate) calls: [Call; CALLS],
    pub(crate) tickets: [Made; TICKETS],
    pub(crate) rows: [Row; ROWS],
    pub(crate) senders: [Sender; 2],
    pub(crate) posts: [Post; POSTS],
    pub(crate) left: Left,
}

impl Left {
    /// Takes one piece of bad luck of a kind, if there is any left of it and of all together.
    pub(crate) fn bad(&mut self, kind: impl Fn(&mut Self) -> &mut u8) -> bool {
        self.trouble > 0 && spend(kind(self)) && spend(&mut self.trouble)
    }
}

impl World {
    pub(crate) fn clock(&self, replica: usize) -> i8 {
        if replica == 1 { self.skew } else { 0 }
    }

    /// Whether a call may still be answered.
    pub(crate) fn awaits(&self, op: u8, attempt: u8) -> bool {
        self.calls.iter().any(|call| call.left > 0 && (call.op, call.attempt) == (op, attempt))
    }

    /// Somebody is held up: free for who is already, or is not busy; otherwise one piece of bad luck.
    pub(crate) fn hold_up(&mut self, busy: bool, who: u8) -> Option<()> {
        if busy && self.slow & who == 0 {
            if !self.left.bad(|left| &mut left.slow) {
                return None;
            }
            self.slow |= who;
        }
        Some(())
    }

    /// A call that somebody waits for and that nobody has carried out in its time never arrives: bad luck.
    pub(crate) fn lose_the_overdue(&mut self) -> Option<()> {
        for Call { left, op, attempt, .. } in self.calls {
            let waited_for = self.workers.contains(&Worker::Waiting { op, attempt });
            if left == 1 && waited_for && !self.left.bad(|left| &mut left.lost) {
                return None;
            }
        }
        for Post { left, row, attempt, .. } in self.posts {
            let waited_for = self.senders.contains(&Sender::Waiting { row, attempt });
            if left == 1 && waited_for && !self.left.bad(|left| &mut left.post_lost) {
                return None;
            }
        }
        Some(())
    }

    /// Who has nothing in hand is not held up.
    pub(crate) fn rested(mut self) -> Self {
        for i in 0..2 {
            if self.workers[i] == Worker::Idle {
                self.slow &= !(slow::WORKER << i);
            }
            if self.senders[i] == Sender::Idle {
                self.slow &= !(slow::SENDER << i);
            }
            if self.handlers[i] == Handler::Idle {
                self.slow &= !(slow::HANDLER << i);
            }
        }
        // Updates and handlers have no order among themselves: one order stands for all.
        if self.handlers == [Handler::Idle; 2] {
            self.updates.sort_unstable_by_key(|update| {
                (update.stage == Stage::None, update.stage as u8, update.by, update.label)
            });
        }
        self
    }

    /// The tickets of one label, as bits; `keyed` = only those that carry our key.
    pub(crate) fn tickets_of(&self, label: u8, keyed: bool) -> u8 {
        let ours = |made: &Made| made.label == label + 1 && !(keyed && made.key == BY_HAND);
        self.tickets.iter().enumerate().filter(|(_, made)| ours(made)).fold(0, |bits, (i, _)| bits | 1 << i)
    }

    /// Whether a call of this operation may still be carried out.
    pub(crate) fn on_wire(&self, op: u8) -> bool {
        self.calls.iter().any(|call| call.left > 0 && call.op == op)
    }
}

/// Takes one from a budget.
pub(crate) fn spend(left: &mut u8) -> bool {
    match *left {
        0 => false,
        u8::MAX => true,
        _ => {
            *left -= 1;
            true
        }
    }
}

/// Puts `item` into the first slot that `free` accepts.
///
/// # Panics
/// When there is none: the walk would not be whole.
pub(crate) fn put<T>(slots: &mut [T], free: impl Fn(&T) -> bool, item: T) -> usize {
    let Some(at) = slots.iter().position(free) else { panic!("the model has too few slots: raise the constant") };
    slots[at] = item;
    at
}

/// Takes out slot `at` and closes the gap.
pub(crate) fn take<T: Default + Copy>(slots: &mut [T], at: usize) {
    slots[at..].rotate_left(1);
    if let Some(last) = slots.last_mut() {
        *last = T::default();
    }
}
