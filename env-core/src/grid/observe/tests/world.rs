//! A kitchen that shows whatever a test asks for.

use super::*;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Params {
    pub(super) rules: RuleSet,
    pub(super) seats: usize,
    pub(super) rows: Vec<String>,
    /// True if the ground counts as made for each episode.
    pub(super) generated: bool,
    pub(super) features: Vec<String>,
    pub(super) radius: Option<u8>,
    pub(super) orders: u8,
    pub(super) cook_time: u8,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            rules: RuleSet::Corrected,
            seats: 2,
            rows: ROOM.map(Into::into).into(),
            generated: false,
            features: Vec::new(),
            radius: None,
            orders: 2,
            cook_time: 30,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Extra {
    pub(super) orders: Vec<Option<(u8, u16)>>,
    pub(super) target: u8,
    pub(super) delivered: bool,
}

/// A kitchen that may change its ground itself, or not.
#[derive(Debug)]
pub(super) struct World<const CHANGES: bool> {
    params: Params,
    features: KitchenFeatures,
}

fn kind(name: &str, cook_time: u8) -> Kind {
    let kind = Kind::new(name);
    let soup = |item: &str| Recipe {
        ingredients: vec![item.into(); 3],
        result: alloc::format!("{item}_soup"),
        time: cook_time,
    };
    match name {
        "free_space" | "floor" => kind.walkable(),
        "wall" => kind.wall().symbol('#'),
        "counter" => kind.symbol('C').usage(Use::Surface(Names::Any)),
        "pot" => kind.symbol('U').usage(Use::Container {
            capacity: 3,
            with: Names::of(&["plate"]),
            recipes: vec![soup("onion"), soup("tomato")],
        }),
        "delivery_zone" => kind
            .symbol('@')
            .usage(Use::Sink(Names::of(&["onion_soup", "tomato_soup"]))),
        "onion_stack" => kind.symbol('O').usage(Use::Source("onion".into())),
        "tomato_stack" => kind.symbol('T').usage(Use::Source("tomato".into())),
        "plate_stack" => kind.symbol('=').usage(Use::Source("plate".into())),
        "onion" => kind.symbol('o').usage(Use::Loose),
        "plate" | "onion_soup" | "tomato" | "tomato_soup" | "key" => kind.usage(Use::Loose),
        "door" => kind.symbol('D').usage(Use::Becomes {
            with: Names::EmptyHand,
            keeps: true,
            into: "free_space".into(),
        }),
        "button" => kind.symbol('L').usage(Use::Switch { time: 5 }),
        "indicator" => kind.symbol('R'),
        _ => kind,
    }
}

impl<const CHANGES: bool> GridWorld for World<CHANGES> {
    const ID: &'static str = "test_kitchen";
    const VERSION: &'static str = "1.0.0";
    const TITLE: &'static str = "Test kitchen";
    const CHANGES_GROUND: bool = CHANGES;

    type Params = Params;
    type Extra = Extra;

    fn plan(params: &Params) -> Result<WorldPlan, ParamError> {
        let names = KINDS.into_iter().chain(["button", "indicator"]);
        let (rows, cols) = (params.rows.len(), params.rows[0].len());
        Ok(WorldPlan {
            rules: params.rules,
            seats: params.seats,
            horizon: 60,
            kinds: names.map(|name| kind(name, params.cook_time)).collect(),
            layout: if params.generated {
                Layout::Generated {
                    rows,
                    cols,
                    fixtures: 5,
                }
            } else {
                Layout::Fixed(params.rows.clone())
            },
            features: params.features.clone(),
            view_radius: params.radius,
            ..WorldPlan::default()
        })
    }

    fn new(params: Params, tables: &Tables) -> Result<Self, ParamError> {
        let facts = KitchenFacts {
            layout: 3,
            layouts: 5,
            orders: params.orders,
            recipes: 2,
            time_limit: 100,
            targets: vec![ONION_SOUP, tables.find_kind("tomato_soup", "")?],
            indicators: KindSet::default().with(tables.find_kind("indicator", "")?),
            view_radius: params.radius,
            ..KitchenFacts::default()
        };
        let features = KitchenFeatures::new(facts, tables);
        Ok(Self { params, features })
    }

    fn start(&self, _tables: &Tables, _draws: &mut Draws) -> Extra {
        Extra::default()
    }

    fn generate(&self, _rng: &mut Rng) -> Vec<String> {
        self.params.rows.clone()
    }

    fn feature(&self, tables: &Tables, name: &str) -> Option<OwnFeature> {
        match name {
            "steps_done" => Some(OwnFeature::agent(&[1])),
            name => self.features.find(tables, name),
        }
    }

    fn observe(
        &self,
        tables: &Tables,
        state: &State<Extra>,
        name: &str,
        seat: usize,
        out: &mut [f32],
    ) {
        if name == "steps_done" {
            out[0] = (state.steps * 2) as f32 + seat as f32;
            return;
        }
        let mut now = KitchenNow {
            orders: [None; MAX_ORDERS],
            target: state.extra.target,
            delivered: state.extra.delivered,
        };
        for (order, of) in now.orders.iter_mut().zip(&state.extra.orders) {
            *order = of.map(|(recipe, left)| ShownOrder { recipe, left });
        }
        self.features.write(tables, state, &now, (name, seat), out);
    }
}
