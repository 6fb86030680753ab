//! Who handles what: a handler tree over a decoded input, run inside the transaction of its row.

use std::{ops::ControlFlow, sync::Arc};

use teloxide::dptree::{self, Handler};

use crate::{
    dialog::Dialog,
    domain::input::{Act, Handled, Input},
    ids::BotId,
    staff::Staff,
    store::{StoreError, Tx, lanes},
};

type Tree = Handler<'static, Result<Handled, StoreError>>;

/// The tree with what its handlers need.
pub struct Routes {
    tree: Tree,
    dialog: Arc<Dialog>,
    staff: Arc<Staff>,
    bot: BotId,
}

impl std::fmt::Debug for Routes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Routes").field("bot", &self.bot).finish_non_exhaustive()
    }
}

/// The tree: moved groups, then staff, then everybody.
#[must_use]
pub fn routes(dialog: Dialog, staff: Staff) -> Routes {
    let tree: Tree =
        dptree::entry()
            .branch(dptree::filter(|input: Arc<Input>| matches!(input.act, Act::ChatMoved { .. })).endpoint(chat_moved))
            .branch(dptree::filter(|input: Arc<Input>, staff: Arc<Staff>| staff.is_theirs(&input)).endpoint(
                |tx: Tx, input: Arc<Input>, staff: Arc<Staff>| async move { staff.handle(&tx, &input).await },
            ))
            .branch(dptree::filter_async(awaited).endpoint(|tx: Tx, input: Arc<Input>, staff: Arc<Staff>| async move {
                staff.handle(&tx, &input).await
            }))
            .branch(dptree::filter(|input: Arc<Input>| !matches!(input.act, Act::Ignored { .. })).endpoint(
                |tx: Tx, input: Arc<Input>, dialog: Arc<Dialog>| async move { dialog.handle(&tx, &input).await },
            ));
    let bot = dialog.bot;
    Routes { tree, dialog: Arc::new(dialog), staff: Arc::new(staff), bot }
}

impl Routes {
    /// Runs the tree for one input. An input that no branch takes is done: it asks for nothing.
    ///
    /// # Errors
    /// The handler's [`StoreError`].
    pub async fn run(&self, tx: Tx, input: Arc<Input>) -> Result<Handled, StoreError> {
        self.staff.meet(&input);
        let deps = dptree::deps![tx, input, Arc::clone(&self.dialog), Arc::clone(&self.staff), self.bot];
        match self.tree.dispatch(deps).await {
            ControlFlow::Break(handled) => handled,
            ControlFlow::Continue(_) => Ok(Handled::quietly()),
        }
    }
}

/// Whether somebody of the staff answers what they were asked. A database that cannot say is met again by the handler.
async fn awaited(tx: Tx, input: Arc<Input>, staff: Arc<Staff>) -> bool {
    staff.awaits(&tx, &input).await.unwrap_or(true)
}

async fn chat_moved(tx: Tx, input: Arc<Input>, bot: BotId, staff: Arc<Staff>) -> Result<Handled, StoreError> {
    if let (Some(chat), Act::ChatMoved { to }) = (input.chat, &input.act) {
        lanes::move_chat(tx.as_ref(), bot, chat.id, *to, staff.clock.now()).await?;
        if staff.roster.now().chat == Some(chat.id) {
            staff.menus.go_stale();
            tracing::warn!(
                from = chat.id.0,
                to = to.0,
                "the staff chat became a supergroup and is followed; put the new number into staff.chat"
            );
        }
    }
    Ok(Handled::quietly())
}
