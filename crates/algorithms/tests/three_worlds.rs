//! One algorithm, unchanged, in three worlds: simulated, searched, and between real processes.

use conclave_algorithms::mutex::{Answers, RicartAgrawala};
use conclave_core::{Seat, View};
use conclave_observe::{JudgeOrdering, Time, Verdict};
use conclave_sim::{
    ChannelOrder, FaultPlan, Limits, MutexApplication, Network, Recording, Setup, Workload, simulate,
};
use conclave_testkit::search::Search;
use conclave_testkit::tcp;

#[test]
fn ricart_agrawala_is_simulated() {
    let view = View::dense(1, 3);
    let setup = Setup::<RicartAgrawala> {
        view: &view,
        config: &Answers::Replies,
        network: Network::Unit,
        order: ChannelOrder::Fifo,
        faults: &FaultPlan::default(),
        clocks: &[],
        holder: None,
        seed: 1,
        limits: Limits { events: 100_000, time: Time::delays(10_000), patience: Time::delays(1_000) },
        ordering: JudgeOrdering::Yes,
        promises_order: true,
        recording: Recording::Nothing,
        check_invariants: true,
    };
    let clients = (0..3).map(Seat::at).collect();
    let application =
        MutexApplication::new(Workload::Contend, &view, clients, 30, Time::DELAY, None, 1);
    let report = simulate(&setup, application, &mut |_| {}).report;
    assert_eq!((report.verdict, report.delays.entries()), (Verdict::Ok, 30));
    assert_eq!(report.bandwidth.sent(), 30 * 2 * 2, "2(N-1) messages an entry");
}

#[test]
fn ricart_agrawala_is_searched() {
    for fifo in [true, false] {
        let found = Search {
            view: &View::dense(1, 3),
            clients: (0..3).map(Seat::at).collect(),
            config: &Answers::Replies,
            holder: None,
            requests: 1,
            fifo,
            states_max: 1_000_000,
        }
        .run::<RicartAgrawala>();
        assert_eq!(found.flaw, None, "fifo: {fifo}");
        assert!(found.contended > 0 && found.finished > 0, "{found:?}");
    }
}

#[test]
fn ricart_agrawala_runs_between_processes() {
    let view = View::dense(1, 3);
    if let Some(peer) = tcp::peer() {
        return peer.run::<RicartAgrawala>(&view, &Answers::Replies, 20);
    }
    let deeds = tcp::run_all(&view, "ricart_agrawala_runs_between_processes", &[]);
    assert_eq!((deeds.counter, deeds.entries.len()), (60, 60));
    assert!(deeds.entries.is_sorted_by(|a, b| a.1 < b.1), "fences grow: {:?}", deeds.entries);
}
