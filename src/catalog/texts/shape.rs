//! What a text is beside its words: where it is shown, what the state it is said in proves; and the macro that turns the
//! list of texts into one type.

/// Where a text is shown; each place has its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A message or part of one.
    Message,
    /// The answer to a tap.
    Tap,
    /// A button.
    Button,
}

/// What the state a text is said in proves, and so what the text may claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// No state stands behind it: nothing may be claimed.
    Nothing,
    /// Confirmed and stored; not sent yet.
    Accepted,
    /// May be on the wire.
    Sending,
    /// Stored; the CRM cannot be reached.
    Waiting,
    /// The CRM may hold it.
    Unknown,
    /// A human must find out.
    Review,
    /// The CRM named the ticket.
    Created,
    /// Refused for good; nothing was made.
    Rejected,
    /// Called off before anything was sent.
    Cancelled,
    /// Said to staff, who are shown the evidence beside it.
    Free,
}

macro_rules! texts {
    // What the journal says happened: of one kind, so the two words are enough.
    (
        $($variant:ident = $section:literal . $name:literal, $place:ident, $proves:ident, $args:tt;)*
        => $sort:literal { $($event:ident = $word:literal),* $(,)? }
    ) => {
        texts! {
            $($variant = $section . $name, $place, $proves, $args;)*
            $($event = $sort . $word, Message, Free, [];)*
        }
    };
    ($($variant:ident = $section:literal . $name:literal, $place:ident, $proves:ident, [$($arg:literal),*];)*) => {
        /// One text.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(missing_docs, reason = "a key's name says it; its words are in templates/texts")]
        pub enum Key { $($variant,)* }

        impl Key {
            /// Every key; a key's place here is its number.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// `section.name`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => concat!($section, ".", $name),)* }
            }

            /// Section and name.
            #[must_use]
            pub fn split(self) -> (&'static str, &'static str) {
                match self { $(Self::$variant => ($section, $name),)* }
            }

            /// Its placeholders; one that ends with `?` may be left out.
            #[must_use]
            pub fn args(self) -> &'static [&'static str] {
                match self { $(Self::$variant => &[$($arg),*],)* }
            }

            /// Where it is shown.
            #[must_use]
            pub fn place(self) -> Place {
                match self { $(Self::$variant => Place::$place,)* }
            }

            /// What it may claim.
            #[must_use]
            pub fn proves(self) -> Proof {
                match self { $(Self::$variant => Proof::$proves,)* }
            }
        }
    };
}

pub(super) use texts;
