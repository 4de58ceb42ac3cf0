//! The written picture, read back.

use conclave_core::Seat;
use conclave_core::election::Term;
use conclave_diagram::scene::{MarkKind, Sample, Scene};
use conclave_diagram::{Options, draw};
use conclave_observe::family::{detectors, elections};
use conclave_observe::trace::{Record, Trace};
use conclave_observe::{Event, LossCause, MessageId, Side, Time, What};
use roxmltree::{Document, Node};

use crate::gallery;
use crate::run::{
    CALLED, ELECTING, LEAVING, LEFT, REQUESTED, Run, VACANT, about, entered, random, read, wrote,
};

fn of_class<'a>(svg: &'a Document<'_>, class: &str) -> Vec<Node<'a, 'a>> {
    svg.descendants().filter(|node| node.attribute("class") == Some(class)).collect()
}

fn text_of<'a>(node: Node<'a, 'a>, tag: &str) -> Option<&'a str> {
    node.children().find(|child| child.has_tag_name(tag)).and_then(|child| child.text())
}

#[test]
fn every_picture_is_well_formed_and_holds_its_scene() {
    for (name, trace, options) in gallery::all() {
        let (scene, written) = (Scene::of(&trace, &options), draw(&trace, &options));
        let svg = Document::parse(&written).unwrap_or_else(|error| panic!("{name}: {error}"));
        let arrows = of_class(&svg, "arrow");
        let strips = || scene.strips.iter();
        assert_eq!(arrows.len(), strips().map(|it| it.arrows.len()).sum::<usize>(), "{name}");
        for (node, arrow) in arrows.iter().zip(strips().flat_map(|it| &it.arrows)) {
            assert_eq!(
                text_of(*node, "title"),
                Some(&arrow.text[..]),
                "the whole text is a tooltip"
            );
        }
        let count = |class| of_class(&svg, class).len();
        // The legend has a sample of each as well.
        let bars = ["waiting", "holding", "electing", "leading"].map(count).iter().sum::<usize>();
        let samples = scene.legend.iter().filter(|entry| matches!(entry.sample, Sample::Bar(_)));
        assert_eq!(
            bars,
            strips().map(|it| it.bars.len()).sum::<usize>() + samples.count(),
            "{name}"
        );
        let is_note =
            |kind| !matches!(kind, MarkKind::Crash | MarkKind::Return | MarkKind::Replace);
        let notes = strips().flat_map(|it| &it.marks).filter(|mark| is_note(mark.kind)).count();
        let samples = scene.legend.iter().filter(|it| matches!(it.sample, Sample::Mark(_)));
        assert_eq!(count("note"), notes + samples.count(), "{name}");
        assert_eq!(count("wait"), strips().map(|it| it.waits.len()).sum::<usize>(), "{name}");
        assert_eq!(count("clash"), strips().map(|it| it.clashes.len()).sum::<usize>(), "{name}");
        assert_eq!(count("partition"), strips().map(|it| it.bands.len()).sum::<usize>(), "{name}");
        let texts = svg.descendants().filter(|node| node.has_tag_name("text"));
        assert!(
            texts
                .map(|node| node.text().unwrap())
                .eq(scene.labels.iter().map(|label| &label.text[..]))
        );
    }
}

#[test]
fn a_picture_says_what_it_is() {
    let options = Options {
        title: Some("A lone entry".into()),
        caption: vec!["verdict: ok".into()],
        ..Options::default()
    };
    let written = draw(&gallery::lone_entry(), &options);
    let svg = Document::parse(&written).unwrap();
    let root = svg.root_element();
    assert_eq!(root.attribute("role"), Some("img"));
    let size = |name| root.attribute(name).unwrap();
    assert_eq!(size("viewBox"), format!("0 0 {} {}", size("width"), size("height")));
    assert_eq!(text_of(root, "title"), Some("A lone entry"));
    assert_eq!(
        text_of(root, "desc"),
        Some(
            "Space-time diagram of ricart-agrawala with 5 processes, from 0 to 3 delays: 1 entry, \
             8 messages. verdict: ok"
        )
    );
}

#[test]
fn what_xml_would_misread_comes_out_as_it_went_in() {
    let mut run = Run::new("a<b> & \"c\"", 2);
    run.message(0, (1, 0), (2, 100), "x < y && y > \"z\"");
    let written = draw(&run.trace(), &Options::default());
    let svg = Document::parse(&written).unwrap();
    assert_eq!(text_of(of_class(&svg, "arrow")[0], "title"), Some("x < y && y > \"z\""));
    let title = text_of(svg.root_element(), "title").unwrap();
    assert!(title.starts_with("a<b> & \"c\", 2 processes"), "{title}");
}

#[test]
fn the_same_trace_is_the_same_picture_to_the_byte() {
    for (name, trace, options) in gallery::all() {
        assert_eq!(draw(&trace, &options), draw(&trace.clone(), &options.clone()), "{name}");
    }
}

#[test]
fn the_bytes_of_all_pictures_are_known() {
    // They are the same on every machine. Who changes them on purpose looks at the gallery first.
    let hash = |pictures: Vec<(&str, Trace, Options)>| {
        let pictures = pictures.into_iter();
        let written: String = pictures.map(|(_, trace, options)| draw(&trace, &options)).collect();
        let hash = written.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        format!("{hash:016x}")
    };
    let found = [hash(gallery::pictures()), hash(gallery::elections())];
    assert_eq!(found, ["97f364d6c4d3dde8", "b66ac9eb4f9cd17b"]);
}

#[test]
fn numbers_have_at_most_two_decimals_but_for_directions() {
    for (name, trace, options) in gallery::all() {
        let written = draw(&trace, &options);
        let svg = Document::parse(&written).unwrap();
        for attribute in svg.descendants().flat_map(|node| node.attributes()) {
            if ["font-family", "transform", "class"].contains(&attribute.name()) {
                continue;
            }
            let numbers =
                attribute.value().split(|letter: char| !letter.is_ascii_digit() && letter != '.');
            for (_, decimals) in numbers.filter_map(|number| number.split_once('.')) {
                assert!(decimals.len() <= 2, "{name}: {}", attribute.value());
            }
        }
    }
}

#[test]
fn a_run_without_events_is_a_picture_of_its_processes() {
    let written = draw(&Run::new("central", 4).trace(), &Options::default());
    let svg = Document::parse(&written).unwrap();
    let names =
        svg.descendants().filter(|node| node.text().is_some_and(|text| text.starts_with('p')));
    assert_eq!(names.filter(|node| node.has_tag_name("text")).count(), 4);
    let nobody = draw(&Run::new("central", 0).trace(), &Options::default());
    assert!(Document::parse(&nobody).is_ok());
}

/// A trace that keeps none of its promises.
fn nonsense(seed: u64) -> Trace {
    let mut number = random(seed + 1, 0..u64::MAX);
    let mut run = match number() % 3 {
        0 => Run::new("none", 3),
        1 => Run::election("none", &[7, 3, 9], true),
        _ => Run::detector(3, number() % 3),
    };
    if number() > u64::MAX / 2 {
        run = run.network("no such network");
    }
    let mut trace = run.trace();
    for _ in 0..80 {
        let message = MessageId::new(Seat(u32::try_from(number() % 3).unwrap()), number() % 3);
        let other = Seat(u32::try_from(number() % 5).unwrap());
        let kind = u8::try_from(number() % 256).unwrap();
        let what = match number() % 27 {
            0 => REQUESTED,
            1 => entered(number()),
            2 => LEFT,
            3 => LEAVING,
            4..=6 => What::Sent { message, to: other, kind, copy: false },
            7..=8 => What::Received { message, from: other, kind },
            9 => What::Lost { message, to: other, cause: LossCause::Network },
            10 => What::Duplicated { message, to: other },
            11 => What::Crashed,
            12 => What::Returned,
            13 => What::Paused,
            14 => What::Cut { partition: 0, side: Side::Right },
            15 => What::Healed { partition: 0 },
            16 => What::Replaced,
            17 => CALLED,
            18 => ELECTING,
            19 => elections::Seen::Elected { leader: other, term: Term(number() % 3) }.what(),
            20 => VACANT,
            21 => detectors::Seen::Suspected { whom: other }.what(),
            22 => detectors::Seen::Trusted { whom: other }.what(),
            23 => read(number(), number()),
            24 => wrote(number()),
            25 => What::Resumed,
            _ => What::WaitsFor { whom: other },
        };
        // Most of it about the lock without a name.
        let what = about(u32::try_from((number() % 6).saturating_sub(3)).unwrap(), what);
        let at = Time(match number() % 4 {
            0 => number(),
            1 => u64::MAX,
            2 => number() % 100,
            _ => number() % 10_000_000,
        });
        let seat = Seat(u32::try_from(number() % 4).unwrap());
        let event = Event { at, seat, what };
        trace.records.push(Record { text: Some("\u{1}<".into()), ..Record::of(event) });
    }
    trace
}

#[test]
fn a_trace_that_breaks_its_promises_is_drawn_all_the_same() {
    for seed in 0..300 {
        let trace = nonsense(seed);
        let somewhere = Options {
            from: Some(Time(seed * 1_000)),
            to: Some(Time(5_000_000)),
            ..Options::default()
        };
        for options in [Options::default(), somewhere] {
            let written = draw(&trace, &options);
            Document::parse(&written).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        }
    }
}
