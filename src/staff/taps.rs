//! Buttons of a case's card, bound to the case as it was when they were shown.

use super::{
    Shift,
    deed::{Deed, Target},
};
use crate::{
    catalog::texts::Key, domain::input::Handled, ids::MessageId, store::StoreError, telegram::button::CaseWish,
};

impl Shift<'_> {
    pub(super) async fn tap(
        &self,
        case: i64,
        rev: i64,
        wish: CaseWish,
        message: Option<MessageId>,
    ) -> Result<Handled, StoreError> {
        let Some(target) = self.target_of(case).await? else {
            return Ok(Handled::toast(self.no_such_case(case)));
        };
        let deed = match wish {
            CaseWish::Why => {
                if let Some(stored) = &target.stored {
                    self.tell_why(stored).await?;
                }
                return Ok(Handled::toast(self.text(Key::TapDone, &[])));
            }
            CaseWish::AskNumber => return self.ask_number(&target, rev).await,
            CaseWish::AskCreate => return self.ask_create(&target, rev).await,
            CaseWish::AskReject => return self.ask_reject(&target, rev).await,
            CaseWish::Candidate(_)
            | CaseWish::Unchecked(_)
            | CaseWish::Sure(_)
            | CaseWish::Reason(_)
            | CaseWish::Cancel => {
                return self.tap_on_question(&target, rev, wish, message).await;
            }
            CaseWish::Keyless => {
                let number = target.case.as_ref().and_then(|case| case.matter.keyless()).unwrap_or_default();
                Deed::LinkKeyless { number: number.to_owned() }
            }
            CaseWish::Take => Deed::Take,
            CaseWish::HandBack => Deed::HandBack,
            CaseWish::LookAgain => Deed::LookAgain,
            CaseWish::Consent => Deed::Consent,
            CaseWish::SendAgain => Deed::SendAgain,
            CaseWish::LetGo => Deed::LetGo,
            CaseWish::Replay => Deed::Replay,
        };
        self.tapped(&target, rev, &deed).await
    }

    /// The card itself shows what changed: the tap is answered in words, and nothing more is said.
    async fn tapped(&self, target: &Target, rev: i64, deed: &Deed) -> Result<Handled, StoreError> {
        let (ruling, go_on) = self.staff.act(self.tx, self.actor, target, Some(rev), deed, self.now).await?;
        let words = self.staff.ruling_words(self.tx, self.lang, target, &ruling).await?;
        Ok(Handled { send_now: go_on.into_iter().collect(), ..Handled::toast(words) })
    }
}
