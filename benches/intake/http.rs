//! Lines 4, 5 and 7: the door over loopback HTTP, beside a handler that keeps nothing and beside the plain bot's.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use crate::{
    door::{self, Door},
    load::{Requests, open_loop, request, saturate},
    measure::{fsync, in_turn, ms, percentile, rate},
    place::Ground,
    plain,
    report::{Line, Report},
    route::taps,
};

pub(crate) async fn measure(ground: &Ground, report: &mut Report, round: usize) {
    let requests: Requests = Arc::new(taps(ground.sizes.requests).iter().map(|tap| request(tap)).collect());
    let few = Arc::new(requests[..ground.sizes.plain_requests].to_vec());
    let null = async || {
        let (at, _tasks) = door::null().await;
        saturate(at, &requests).await
    };
    let ours = async || {
        let database = ground.sqlite();
        let mut door = Door::new(ground.app(&database).await);
        saturate(door.open().await, &requests).await
    };
    let plain = async || {
        let database = ground.sqlite();
        let (at, _tasks) = door::serve(plain::router(&database.url, None).await).await;
        saturate(at, &few).await
    };
    let both = async || in_turn(round, ours, plain).await;
    let (null, (ours, plain)) = in_turn(round, null, both).await;
    let (null, ours, plain) = (rate(requests.len(), null), rate(requests.len(), ours), rate(few.len(), plain));
    report.add(round, Line::Http, ours / null, &format!("{ours:.0} and {null:.0} taps/s"));
    report.add(round, Line::PlainBot, ours / plain, &format!("{ours:.0} and {plain:.0} taps/s"));
    latency(ground, report, round, ours / 10.0).await;
}

/// At a tenth of what it gets through: how much longer a tap takes than with a handler that keeps nothing.
async fn latency(ground: &Ground, report: &mut Report, round: usize, rate: f64) {
    let count = ((rate * ground.sizes.seconds) as usize).max(50);
    let requests: Requests = Arc::new(taps(count).iter().map(|tap| request(tap)).collect());
    let p50 = async |at: SocketAddr| {
        let answered = open_loop(at, &requests, rate).await;
        let mut took: Vec<Duration> = answered.iter().map(|(due, done)| done.duration_since(*due)).collect();
        percentile(&mut took, 0.5)
    };
    let (at, _tasks) = door::null().await;
    let null = p50(at).await;
    let before = fsync(ground.folder(), 100);
    let database = ground.sqlite();
    let mut door = Door::new(ground.app(&database).await);
    let ours = p50(door.open().await).await;
    let flush = (before + fsync(ground.folder(), 100)) / 2;
    let fsyncs = ours.saturating_sub(null).as_secs_f64() / flush.as_secs_f64();
    let raw = format!("{:.2} and {:.2} ms at {rate:.0} taps/s, one flush {:.2} ms", ms(ours), ms(null), ms(flush));
    report.add(round, Line::Latency, fsyncs, &raw);
}
