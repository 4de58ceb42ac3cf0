//! Curves, read back.

use conclave_diagram::plot::{Curve, Panel, Plot, Value, plot};
use roxmltree::{Document, Node};

fn value(across: u64, up: u64, label: &str) -> Value {
    Value { across: Some(across * 1_000_000), up, label: label.into(), is_ringed: false }
}

fn trade() -> Plot {
    let panel = |title: &str, factor: u64| Panel {
        title: title.into(),
        curves: vec![
            Curve {
                name: "heartbeat <D>".into(),
                points: vec![
                    value(10, 20_000_000 * factor, "D=1"),
                    value(20, 500_000 * factor, "D=5"),
                    value(80, 0, "D=50"),
                ],
            },
            Curve {
                name: "phi".into(),
                points: vec![value(12, 9_000_000, "phi=1"), value(31, 30_000, "phi=8")],
            },
        ],
    };
    Plot {
        title: "The trade".into(),
        across: "time to detect, in ms".into(),
        up: "wrong suspicions".into(),
        beyond: "never noticed".into(),
        ringed: "some were missed".into(),
        panels: vec![panel("sync", 1), panel("exponential", 3)],
        caption: vec!["A line below.".into()],
    }
}

fn of_class<'a>(svg: &'a Document<'_>, class: &str) -> Vec<Node<'a, 'a>> {
    svg.descendants().filter(|node| node.attribute("class") == Some(class)).collect()
}

/// Where the markers of a curve are, from left to right as they were given.
fn markers(curve: Node<'_, '_>) -> Vec<(f64, f64)> {
    let number = |node: Node<'_, '_>, name| node.attribute(name).and_then(|it| it.parse().ok());
    let markers = curve.children().filter(|node| node.attribute("class") == Some("marker"));
    markers
        .map(|node| match (number(node, "cx"), number(node, "cy")) {
            (Some(x), Some(y)) => (x, y),
            _ => {
                // The corners of a square: its first is half a marker up and to the left.
                let path = node.attribute("d").unwrap().trim_start_matches('M');
                let (x, rest) = path.split_once(' ').unwrap();
                let y = rest.split_once(' ').unwrap().0;
                (x.parse::<f64>().unwrap() + 5.0, y.parse::<f64>().unwrap() + 5.0)
            }
        })
        .collect()
}

#[test]
fn every_panel_has_every_curve_and_every_point() {
    let written = plot(&trade());
    let svg = Document::parse(&written).unwrap();
    let curves = of_class(&svg, "curve");
    let points: Vec<usize> = curves.iter().map(|&curve| markers(curve).len()).collect();
    assert_eq!(points, [3, 2, 3, 2]);
    assert_eq!(of_class(&svg, "panel").len(), 2);
    let names: Vec<_> =
        curves.iter().map(|curve| curve.first_element_child().unwrap().text().unwrap()).collect();
    assert_eq!(names, ["heartbeat <D>", "phi", "heartbeat <D>", "phi"]);
}

#[test]
fn larger_is_further_right_and_further_up_and_zero_is_below_everything() {
    let written = plot(&trade());
    let svg = Document::parse(&written).unwrap();
    let [left, phi, right, _] = of_class(&svg, "curve")[..] else { panic!("four curves") };
    let (left, phi, right) = (markers(left), markers(phi), markers(right));
    assert!(left[0].0 < left[1].0 && left[1].0 < left[2].0, "{left:?}");
    assert!(left[0].1 < left[1].1 && left[1].1 < left[2].1, "{left:?}");
    assert!(left[2].1 > phi[1].1 + 20.0, "zero is apart: {left:?} {phi:?}");
    assert!(right[0].1 < left[0].1, "panels have the same scale: {left:?} {right:?}");
    // A factor of two is as wide anywhere: 10 to 20, and 20 to 80 is two of them.
    let (once, twice) = (left[1].0 - left[0].0, left[2].0 - left[1].0);
    assert!((twice - 2.0 * once).abs() < 0.5, "{once} {twice}");
}

#[test]
fn axes_points_and_legend_are_labelled() {
    let written = plot(&trade());
    let svg = Document::parse(&written).unwrap();
    let texts: Vec<_> = svg
        .descendants()
        .filter(|node| node.has_tag_name("text"))
        .map(|node| node.text().unwrap())
        .collect();
    let count = |words: &str| texts.iter().filter(|text| **text == words).count();
    for (words, times) in [
        ("The trade", 1),
        ("sync", 1),
        ("time to detect, in ms", 2),
        ("wrong suspicions", 1),
        ("D=50", 2),
        ("phi=8", 2),
        ("heartbeat <D>", 1),
        ("0", 2),
        ("0.1", 2),
        ("50", 2),
        ("A line below.", 1),
    ] {
        assert_eq!(count(words), times, "{words}: {texts:?}");
    }
}

/// Ten bounds and seven thresholds of two detectors, as they were measured where delays have a
/// bound and where they have none: in hundredths of a millisecond, and in ten-thousandths a second.
#[rustfmt::skip]
const MEASURED: [[(u64, u64); 17]; 2] = [
    [(788, 958_298), (943, 428_037), (1237, 0), (1487, 0), (1737, 0), (2237, 0), (3237, 0),
     (4737, 0), (7237, 0), (10737, 0), (752, 1_119_866), (951, 421_089), (1206, 32_234),
     (1360, 5_069), (1597, 1_196), (1869, 0), (2156, 0)],
    [(921, 1_260_817), (1037, 987_400), (1310, 595_697), (1572, 361_747), (1854, 218_005),
     (2469, 79_502), (3556, 9_795), (5064, 228), (7564, 0), (11064, 0), (1049, 1_002_947),
     (1616, 404_972), (2372, 140_610), (2956, 71_757), (3724, 29_614), (4574, 12_187),
     (5463, 5_524)],
];

#[test]
fn every_point_is_labelled_even_where_many_are_near_and_far_labels_have_a_line_to_theirs() {
    let settings = ["1.25", "2.5", "5", "7.5", "10", "15", "25", "40", "65", "100"];
    let thresholds = ["0.5", "1", "2", "3", "5", "8", "12"];
    let labels = settings.map(|it| format!("D={it}")).into_iter();
    let labels: Vec<String> = labels.chain(thresholds.map(|it| format!("phi={it}"))).collect();
    let panels = MEASURED.map(|points| {
        let points = points.iter().zip(&labels).map(|(&(across, up), label)| Value {
            across: Some(across * 10_000),
            up: up * 100,
            label: label.clone(),
            is_ringed: false,
        });
        let points: Vec<Value> = points.collect();
        let curve = |points: &[Value]| Curve { name: "c".into(), points: points.to_vec() };
        Panel { title: "p".into(), curves: vec![curve(&points[..10]), curve(&points[10..])] }
    });
    let written = plot(&Plot { panels: panels.to_vec(), ..trade() });
    let svg = Document::parse(&written).unwrap();
    for label in &labels {
        let texts = svg.descendants().filter(|node| node.has_tag_name("text"));
        assert_eq!(texts.filter(|it| it.text() == Some(label)).count(), 2, "{label}");
    }
    let leaders = svg.descendants().filter(|it| it.attribute("stroke-width") == Some("0.8"));
    assert!((1..20).contains(&leaders.count()));
}

#[test]
fn the_line_above_zero_is_explained_where_there_is_one() {
    let is_explained = |plot: &Plot| self::plot(plot).contains("below it: not once");
    assert!(is_explained(&trade()));
    let mut positive = trade();
    for curve in positive.panels.iter_mut().flat_map(|panel| &mut panel.curves) {
        curve.points.retain(|value| value.up > 0);
    }
    assert!(!is_explained(&positive));
}

#[test]
fn a_legend_that_is_too_wide_for_one_panel_goes_on_below() {
    let mut narrow = trade();
    narrow.panels.truncate(1);
    narrow.panels[0].curves[0].name = "a name so long that there is no room beside it".into();
    let written = plot(&narrow);
    let svg = Document::parse(&written).unwrap();
    let width: f64 = svg.root_element().attribute("width").unwrap().parse().unwrap();
    let heights = |words: &str| {
        let mut texts = svg.descendants().filter(|node| node.has_tag_name("text"));
        let node = texts.find(|node| node.text() == Some(words)).unwrap();
        let at = |name| node.attribute(name).unwrap().parse::<f64>().unwrap();
        assert!(at("x") < width, "{words}");
        at("y")
    };
    assert!(heights("phi") > heights("a name so long that there is no room beside it"));
}

#[test]
fn without_a_zero_there_is_no_row_for_it() {
    let mut trade = trade();
    for curve in trade.panels.iter_mut().flat_map(|panel| &mut panel.curves) {
        curve.points.retain(|value| value.up > 0);
    }
    let written = plot(&trade);
    let svg = Document::parse(&written).unwrap();
    assert!(svg.descendants().all(|node| node.text() != Some("0")));
}

#[test]
fn the_same_figures_are_the_same_picture_and_no_figures_are_a_picture_too() {
    assert_eq!(plot(&trade()), plot(&trade().clone()));
    for empty in [Plot::default(), Plot { panels: vec![Panel::default()], ..trade() }] {
        assert!(Document::parse(&plot(&empty)).is_ok());
    }
}

#[test]
fn what_is_beyond_all_numbers_is_drawn_at_the_right_edge_and_not_joined() {
    let mut trade = trade();
    let beyond =
        Value { across: None, up: 0, label: "D=900: 12 of 12 missed".into(), is_ringed: false };
    trade.panels[0].curves[0].points.push(beyond);
    let written = plot(&trade);
    let svg = Document::parse(&written).unwrap();
    let curve = of_class(&svg, "curve")[0];
    let places = markers(curve);
    let panel = of_class(&svg, "panel")[0];
    let number = |name: &str| panel.attribute(name).unwrap().parse::<f64>().unwrap();
    let edge = number("x") + number("width");
    assert!(places[3].0 > places[2].0 + 40.0 && places[3].0 > edge - 40.0, "{places:?}");
    let line = curve.children().find(|node| node.attribute("class") == Some("line")).unwrap();
    assert_eq!(line.attribute("d").unwrap().matches('L').count(), 2, "three are joined");
    for words in ["D=900: 12 of 12 missed", "right of it: never noticed"] {
        assert!(svg.descendants().any(|node| node.text() == Some(words)), "{words}");
    }
    assert!(!plot(&self::trade()).contains("right of it"));
}

#[test]
fn a_ring_is_drawn_where_there_is_something_to_say_and_the_legend_says_it() {
    let mut trade = trade();
    trade.panels[1].curves[1].points[0].is_ringed = true;
    let written = plot(&trade);
    let svg = Document::parse(&written).unwrap();
    assert_eq!(of_class(&svg, "ring").len(), 2, "one of them is the legend's");
    assert!(svg.descendants().any(|node| node.text() == Some("some were missed")));
    assert!(!plot(&self::trade()).contains("some were missed"));
}
