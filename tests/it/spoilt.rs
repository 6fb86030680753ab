//! Operations that a disk or a hand at the database has spoilt: nobody else waits for them, the worker does not turn in
//! circles, and once they are mended they go on.

use std::time::Duration;

use sea_orm::{ColumnTrait as _, EntityTrait as _, QueryFilter as _, sea_query::Expr};
use zayavka::store::{entity::operations, operations::spoilt};

use crate::{
    databases::on_both,
    world::{ANNA, BORIS, World},
};

/// Writes over one column of a person's operation. Returns what stood there.
async fn write(world: &World, user: i64, column: operations::Column, value: String) -> String {
    let mine = operations::Entity::find().filter(operations::Column::UserId.eq(user));
    let row = mine.one(world.app().store.reader()).await.unwrap_or_else(|error| panic!("{error}"));
    let row = row.unwrap_or_else(|| panic!("no operation of {user}"));
    let before = match column {
        operations::Column::Body => row.body,
        operations::Column::Prepared => row.prepared.unwrap_or_default(),
        other => panic!("{other:?}"),
    };
    let written = world.app().store.write(move |tx| {
        let value = value.clone();
        async move {
            let change = operations::Entity::update_many().col_expr(column, Expr::value(value));
            change.filter(operations::Column::UserId.eq(user)).exec(tx.as_ref()).await?;
            Ok(())
        }
    });
    written.await.unwrap_or_else(|error| panic!("{error}"));
    before
}

/// The worker finds nothing to do now, and knows when to look again.
async fn is_calm(world: &World) {
    let (worker, now) = (&world.app().worker, world.app().clock.now());
    let due = worker.due(8).await.unwrap_or_else(|error| panic!("{error}"));
    assert!(due.is_empty(), "{due:?}");
    let next = worker.next_due().await.unwrap_or_else(|error| panic!("{error}"));
    assert!(next.is_some_and(|next| next > now), "{next:?} at {now:?}");
}

on_both! {
    async fn an_operation_that_cannot_be_read_rests_and_hides_nobody(db: Database) {
        let mut world = World::new(db).await;
        world.crm_down(true).await;
        world.apply(ANNA).await;
        let whole = write(&world, ANNA, operations::Column::Body, "{spoilt".to_owned()).await;
        world.apply(BORIS).await;
        world.crm_down(false).await;
        world.pass(Duration::from_secs(120)).await;
        assert_eq!((world.state(BORIS).await, world.count().await), ("created", 1));
        is_calm(&world).await;
        let named = spoilt(world.app().store.reader(), 20).await.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(named.len(), 1);
        assert!(named[0].to_string().contains("of `operations` cannot be read: body:"), "{named:?}");
        write(&world, ANNA, operations::Column::Body, whole).await;
        world.pass(Duration::from_secs(120)).await;
        assert_eq!((world.state(ANNA).await, world.count().await), ("created", 2));
        world.finish().await;
    }

    async fn an_operation_whose_request_cannot_be_read_rests_and_goes_on_when_mended(db: Database) {
        let mut world = World::new(db).await;
        world.crm_down(true).await;
        world.apply(ANNA).await;
        let whole = write(&world, ANNA, operations::Column::Prepared, "{spoilt".to_owned()).await;
        assert!(whole.starts_with('{') && whole.len() > 10, "{whole}");
        world.crm_down(false).await;
        world.pass(Duration::from_secs(300)).await;
        assert_eq!((world.state(ANNA).await, world.count().await), ("pending", 0));
        is_calm(&world).await;
        world.apply(BORIS).await;
        assert_eq!((world.state(BORIS).await, world.count().await), ("created", 1), "nobody waits for it");
        write(&world, ANNA, operations::Column::Prepared, whole).await;
        world.pass(Duration::from_secs(120)).await;
        assert_eq!((world.state(ANNA).await, world.count().await), ("created", 2));
        world.finish().await;
    }
}
