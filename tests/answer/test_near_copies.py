"""A near copy of a sentence that says something else by a word of a closed class, and one that says
the same in other words."""

from __future__ import annotations

import pytest

from rag_pg.answer import order
from rag_pg.answer.figures import foreign_figures
from rag_pg.answer.measures import foreign_measures
from rag_pg.answer.veto import find_veto
from rag_pg.text import same_word, words


def veto(claim: str, source: str) -> str:
    return find_veto(claim, [source], "", {*words(claim), *words(source)})


@pytest.mark.parametrize(
    ("source", "same", "other"),
    [
        ("A choir sings on Mondays. Dues are for members over 21. The hall is hired by a guild.",
         "A guild hires the hall.", "The hall is hired by a choir."),
        ("The ferry is expected to sail in May.", "In May, the ferry should sail.",
         "The ferry sailed in May."),
        ("The herb may ease a cough.", "The herb might possibly ease a cough.",
         "It is proven that the herb eases a cough."),
        ("The vet recommends a second dose.", "A second dose is recommended by the vet.",
         "The vet requires a second dose."),
        ("The charge is 12 francs per parcel.", "Each parcel costs 12 francs.",
         "The charge is 12 francs per year."),
        ("Boats can be hired, except during storms.", "Boats are hired out, except in storms.",
         "Boats can be hired, even during storms."),
        ("The two valves are closed.", "Both valves are closed.", "Both valves are open."),
        ("Les chiens sont admis, sauf dans la serre.",
         "Les chiens sont admis, à l'exception de la serre.",
         "Les chiens sont admis dans la serre."),
        ("The mill was built of brick in 1790 and sold by the abbey in 1860.",
         "Built in 1790, the mill was sold in 1860.", "The mill was built of brick in 1860."),
        ("Hedgehogs sleep in the shed. Otters, however, swim in the lower pond all winter.",
         "Otters swim in the lower pond.", "Hedgehogs swim in the lower pond all winter."),
        ("Lea: And the two oars?\n\nTom: I lent them to the club on Friday.",
         "Tom lent the oars to the club on Friday.", "Lea lent the oars to the club on Friday."),
        ("Helmets are optional for walkers but required for riders.",
         "Riders are required to wear helmets.", "Helmets are required for walkers."),
        ("The tank must be rinsed every 90 days and emptied once a year.",
         "Rinse the tank every 90 days.", "The tank must be emptied every 90 days."),
        ("Weight fell by 9 points in the diet group and by 4 points in the other group.",
         "Weight fell more in the diet group than in the other group.",
         "Weight fell more in the other group than in the diet group."),
        ("| car | noise |\n|---|---|\n| Kite | 61 dB |\n| Wren | 70 dB |",
         "The Kite is quieter than the Wren.", "The Wren is quieter than the Kite."),
        ("The clerk told us of a deficit of 30 euros.", "There was a shortfall of 30 euros.",
         "The clerk told us of a surplus of 30 euros."),
        ("A single cot costs 12 euros a night, a double one 18 euros a night.",
         "For a night, a double cot costs €18 and a single €12.", "A double cot costs €12."),
        ("For flights to the United States desks close at 9.",
         "For US flights desks close at 9.", "For US flights desks close at 8."),
        ("Die Miete beträgt 890 Euro, hinzu kommen 210 Euro für Strom.",
         "Die Miete beträgt insgesamt 1.100 Euro, davon 210 Euro für Strom.",
         "Die Miete beträgt insgesamt 1.200 Euro, davon 210 Euro für Strom."),
        ("Permits lapse after three warnings.", "Three warnings end a permit.",
         "Permits lapse after one warning."),
        ("Nobody may enter the old crypt.", "No one may enter the old crypt.",
         "Visitors may enter the old crypt."),
        ("Gloves are recommended.", "Gloves are advised.", "Gloves are compulsory."),
        ("Frost kills half of the vines.", "Half of the vines are killed by frost.",
         "Frost kills all of the vines."),
        ("Der Verein leiht Zelte für vier Tage und Boote für einen Tag aus.",
         "Zelte werden für vier Tage verliehen.", "Boote werden für vier Tage ausgeliehen."),
        ("Si le voyant bleu brille, ouvrez la vanne; si le voyant noir brille, quittez le hangar.",
         "Quittez le hangar si le voyant noir brille.",
         "Si le voyant noir brille, ouvrez la vanne."),
        ("Its share is 5.4 percent, below the mean of 6.1 percent.",
         "With 5.4 percent, its share is lower than the mean of 6.1 percent.",
         "Its share is above the mean of 6.1 percent."),
        ("| thing | price |\n|---|---|\n| oar | €6 |\n\nDelivery is free from 50 euros.",
         "The oar costs 6 euros.", "The oar costs 7 euros."),
        ("Claims are rejected unless a receipt is attached.",
         "Claims are accepted if a receipt is attached.",
         "Claims are rejected if a receipt is attached."),
        ("The alarm sounds if the door is open.", "When the door is open, the alarm sounds.",
         "Unless the door is open, the alarm sounds."),
        ("Der Vertrag endet, es sei denn, er wird verlängert.",
         "Der Vertrag endet nicht, wenn er verlängert wird.",
         "Der Vertrag endet, wenn er verlängert wird."),
        ("The borrower pays the insurance.", "The insurance is paid by the borrower.",
         "The lender pays the insurance."),
        ("Two-factor login is optional for guests.", "Guests need not use two-factor login.",
         "Two-factor login is mandatory for guests."),
        ("Die Kosten trägt der Arbeitgeber.", "Der Arbeitgeber zahlt die Kosten.",
         "Die Kosten trägt der Arbeitnehmer."),
        ("Anna chairs the board and Ben keeps the minutes.", "Ben keeps the minutes.",
         "Ben chairs the board."),
        ("Erik wrote the report while Jana checked the figures.",
         "The figures were checked by Jana.", "Erik checked the figures."),
        ("The sauce keeps for 20 minutes.", "It keeps for a third of an hour, 20 min.",
         "The sauce keeps for 20 hours."),
        ("The trial lasts 14 days.", "The trial lasts 2 weeks.", "The trial lasts 14 weeks."),
        ("The fee is 30 euros per year.", "The fee is 30 euros a year.",
         "The fee is 30 euros per month."),
        ("The plant in Lund was sold to Mira Foods.", "Mira Foods bought the plant in Lund.",
         "The plant in Lund was not sold to Mira Foods."),
        ("The east wing earned more than the west wing.",
         "The west wing earned less than the east wing.",
         "The west wing earned more than the east wing."),
        ("Le quai nord ferme plus tôt que le quai sud.",
         "Le quai sud ferme plus tard que le quai nord.",
         "Le quai nord ferme plus tard que le quai sud."),
        ("The hall was built between 1904 and 1911.", "The hall was built in seven years.",
         "The hall was built in 9 years."),
        ("Sales rose from 4.2 million euros to 4.8 million euros.",
         "Sales rose by 0.6 million euros, up 14 %.", "Sales rose by 0.7 million euros."),
        ("Profit fell to 310 million euros.", "Profit fell to €310m.", "Profit fell to €310bn."),
        ("The number of trains grew by 60 to 240.", "There were 180 trains before.",
         "There were 170 trains before."),
        ("Store the serum below 25 °C.", "Store the serum below 25 degrees Celsius.",
         "Store the serum below 25 degrees Fahrenheit."),
        ("If drive-2 fails, it starts again three times.",
         "After three failed starts of drive-2 it starts no more.",
         "If drive-2 fails, it starts again four times."),
        ("Version 4.2 added filters.", "Filters were added in version 4.2.",
         "Filters were added in version 4.3."),
        ("Drivers who make no claim for two years pay less.",
         "After two claim-free years drivers pay less.",
         "Drivers who make a claim for two years pay less."),
        ("Names must be printed, weights can be printed.", "Weights are optional, names a must.",
         "Names need not be printed."),
        ("The owner may cancel the contract at any time.",
         "At any time the contract may be cancelled by the owner.",
         "Only the owner may cancel the contract at any time."),
        ("The gym is open to tenants as well as to owners.",
         "The gym is open to owners and to tenants.",
         "The gym is open to owners but not to tenants."),
        ("Gäste dürfen nur in Begleitung eintreten.", "Gäste brauchen zum Eintreten Begleitung.",
         "Gäste dürfen auch ohne Begleitung eintreten."),
        ("The line was closed because of rust. Later a storm broke the mast.",
         "The line was closed because of the rust.",
         "The line was closed because a storm broke the mast."),
        ("Lost keys are kept for 60 days at the station and then given away. The airport is near.",
         "Lost keys are kept for 60 days at the station.",
         "Lost keys are kept for 60 days at the airport."),
        ("The filter is changed every three months.", "The filter is changed quarterly.",
         "The filter is changed every month."),
        ("The plank is 3 metres long and 20 cm wide.", "The plank is 3 m long.",
         "The plank is 3 metres wide."),
        ("Most guests arrive early.", "The majority of guests arrive early.",
         "All guests arrive early."),
        ("Every guest gets a key.", "All guests get a key.", "No guest gets a key."),
        ("Guests may use the pool.", "Guests can use the pool.", "Guests must use the pool."),
        ("Keys are returned before noon.", "Return keys prior to noon.",
         "Keys are returned after noon."),
        ("Bags may weigh at most 20 kg.", "Bags must not weigh more than 20 kg.",
         "Bags may weigh at least 20 kg."),
        ("Guests over 60 pay less.", "Guests older than 60 pay less.", "Guests under 60 pay less."),
        ("Offers below 50 euros are rejected.", "Offers below 50 euros are not accepted.",
         "Offers above 50 euros are rejected."),
        ("Smoking is prohibited in the hall.", "You must not smoke in the hall.",
         "Smoking is permitted in the hall."),
        ("The oven is louder than the fan.", "The fan is quieter than the oven.",
         "The fan is louder than the oven."),
        ("The left lamp is red, the right lamp is green.", "The lamp on the right is green.",
         "The left lamp is green."),
        ("A bed costs 40 euros, a tent 12 euros.", "A tent costs 12 euros.",
         "A bed costs 12 euros."),
        ("The heater turns itself off at night.", "At night the heater switches off.",
         "The heater turns itself on at night."),
        ("The shop closes in August.", "The shop closes in August each summer.",
         "The shop closes in April."),
        ("Der Saal ist mit Karte geöffnet.", "Mit Karte ist der Saal offen.",
         "Der Saal ist ohne Karte geöffnet."),
        ("Die Küche ist wärmer als der Flur.", "Der Flur ist kälter als die Küche.",
         "Der Flur ist wärmer als die Küche."),
        ("Le musée ferme avant midi.", "Avant midi, le musée ferme.", "Le musée ferme après midi."),
        ("Open the lid slowly and close it when the food is warm.",
         "Close the lid when the food is warm.",
         "Close the lid when the food is cold."),
        ("Hens are permitted, cockerels are forbidden.", "Hens are allowed, but not cockerels.",
         "Cockerels are permitted, hens are forbidden."),
        ("Oakham beat Pell Town in June.", "Pell Town was beaten by Oakham in June.",
         "Pell Town beat Oakham in June."),
        ("Guests may invite members, never traders.", "Members may be invited by guests.",
         "Members may invite guests, never traders."),
        ("Der Koch beliefert den Wirt am Abend.", "Am Abend beliefert der Koch den Wirt.",
         "Der Wirt beliefert den Koch am Abend."),
        ("It was founded in Turin in 1905 and moved to Milan in 1931.",
         "It moved to Milan in 1931 and was founded in Turin in 1905.",
         "It was founded in Milan in 1905 and moved to Turin in 1931."),
        ("Pour the milk first, then stir in the flour.", "Stir in the flour after the milk.",
         "Stir in the flour first, then pour the milk."),
        ("A permit is needed from the third visit.", "From visit three a permit is needed.",
         "A permit is needed from the first visit."),
        ("Take it twice a day.", "Take it 2 times daily.", "Take it three times a day."),
        ("Three of the nine lamps were broken.", "3 of 9 lamps were broken.",
         "Five of the nine lamps were broken."),
        ("The lift carries up to 30 km/h winds.", "It carries winds of up to 30 km/h (19 mph).",
         "It carries winds of up to 30 mph."),
        ("Roast it at 200 °C.", "Roast it at 200 °C (392 °F).", "Roast it at 200 °F."),
        ("The port cost 3 million euros.", "It cost 3,000,000 euros, 3 million.",
         "The port cost 3 billion euros."),
        ("Doors close at 7 p.m. on Friday.", "On Friday they close at 19:00.",
         "Doors close at 7 a.m. on Friday."),
        ("Das Amt schließt am 30. April um 12 Uhr.", "Es schließt am 30.04. um 12:00 Uhr.",
         "Das Amt schließt am 30.05. um 12 Uhr."),
        ("Meals are paid only with a receipt.", "Without a receipt, no meals are paid.",
         "Meals are paid without a receipt."),
        ("The owner gives six months' notice; the tenant two.",
         "The tenant gives two months' notice.", "The tenant gives five months' notice."),
        ("Rinse it during meals.", "Rinse it while meals last.", "Rinse it after meals."),
        ("| Hall | Seats | Rent |\n|---|---|---|\n| Elm | 40 | 90 |\n| Oak | 75 | 160 |",
         "Elm has 40 seats, Oak has 75.", "Elm costs 160."),
        ("The pool opens in winter if the lifeguard is there.",
         "If the lifeguard is there, the pool opens in winter.", "The pool opens in winter."),
        ("Boats must not leave without a permit from the harbour office.",
         "Without a permit from the harbour office, boats must not leave.",
         "Boats must not leave."),
        ("Der Schlüssel wird ausgegeben, sofern ein Ausweis vorliegt.",
         "Liegt ein Ausweis vor, wird der Schlüssel ausgegeben.",
         "Der Schlüssel wird ausgegeben."),
        ("Le dépôt est rendu si la chambre est propre.",
         "Si la chambre est propre, le dépôt est rendu.", "Le dépôt est rendu."),
        ("Open the tap slowly and close it when the tub is full.", "Open the tap slowly.",
         "Close the tap slowly."),
        ("Wardens may open the gate before dawn. Hikers sleep in the hut.",
         "The gate may be opened before dawn by wardens.", "Hikers may open the gate before dawn."),
        ("Der Dienstplan wird von der Schichtleitung geschrieben.",
         "Die Schichtleitung schreibt den Dienstplan.",
         "Der Dienstplan wird von der Werkleitung geschrieben."),
        ("A restart erases all entries.", "All entries are erased by a restart.",
         "A restart erases some entries."),
        ("The short walk takes 40 minutes. The long walk takes 95 minutes.",
         "The long walk takes 95 minutes, the short one 40.", "The short walk takes 95 minutes."),
        ("Call the porter and then the owner.", "First call the porter, then the owner.",
         "Call the owner and then the porter."),
        ("Sie proben im Saal.", "Im Saal proben sie.", "Sie proben seit zehn Jahren im Saal."),
        ("Roast it for 25 minutes, then for another 20 without foil.",
         "Roast it for 45 minutes: 25 with foil and 20 without.", "Roast it for 45 minutes."),
        ("A bed costs 40 euros a night.", "Three nights in a bed cost 120 euros.",
         "Three nights in a bed cost 130 euros."),
        ("The tent holds 6 litres more. Elm holds 11 litres, Oak 9 litres.",
         "Elm holds 2 litres more than Oak.", "Elm holds 4 litres more than Oak."),
        ("The link works for one hour.", "The link works for 60 minutes.",
         "The link works for 90 minutes."),
        ("Drain the tank every day. Dirty water rusts the wall.",
         "If the tank is not drained, the wall rusts, so drain it every day.",
         "Do not drain the tank every day."),
        ("Dogs are allowed with a permit. Small cats need no permit.",
         "A permit is needed for dogs, but not for small cats.", "Small cats need a permit."),
        ("The desk is open from Monday to Friday.", "On Wednesday the desk is open.",
         "On Saturday the desk is open."),
        ("The pool is open Tuesday to Sunday.", "The pool is open daily except Monday.",
         "The pool is open on Monday."),
        ("Die Frist endet nach dem dritten Monat.", "Die Frist endet nach dem 3. Monat.",
         "Die Frist endet nach dem 4. Monat."),
        ("Paid orders may be changed, sent ones must not be.", "Orders may be changed when paid.",
         "Paid orders must not be changed."),
        ("Shuttles leave daily. The trip takes 55 minutes.", "The trip takes just under an hour.",
         "Shuttles leave weekly."),
        ("Copper melts at 1.085 °C. Parking costs 0.30 euros. Complain within 14 days.",
         "Copper melts at 1 085 °C. Parking costs 30 cents. You have two weeks to complain.",
         "Copper melts at 1 086 °C."),
        ("A third is water, half milk. Never rinse it under the tap, the chlorine kills the algae.",
         "33 % is water, 50 % milk. Avoid the tap: the chlorine would kill the algae.",
         "Rinse it under the tap."),
        ("Il vetro si mette nella campana verde.", "Si mette il vetro nella campana verde.",
         "Il vetro si mette nella cassetta verde."),
        ("Take one tablet every six hours, but no more than four tablets a day.",
         "Take 1 tablet every 6 hours.", "Take 2 tablets every 6 hours."),
        ("The fee is due if sales fall in two successive months. The term is 24 months.",
         "When sales fall for two months, the fee is due.",
         "When sales fall for five months, the fee is due."),
        ("DVDs are lent for a week.", "A DVD's loan lasts a week.", "A DVD's loan lasts 3 weeks."),
        ("A late return costs 0.50 pounds.", "A late return costs 50 pence.",
         "A late return costs 60 pence."),
        ("Schüler zahlen die Hälfte, sofern sie einen Ausweis zeigen.",
         "Schüler mit Ausweis zahlen den halben Preis.", "Schüler zahlen die Hälfte."),
        ("A deposit is needed, unless a guarantee is presented.",
         "If you present a guarantee, no deposit is needed.",
         "A deposit is needed even if a guarantee is presented."),
        ("| Plan | Price |\n|---|---|\n| Elm | 40 EUR |\n| Oak | 75 EUR |",
         "Oak is more expensive than Elm.", "Elm is more expensive than Oak."),
        ("The tram takes 38 minutes, the ferry takes 65 minutes.",
         "The tram is faster than the ferry: 38 instead of 65 minutes.",
         "The ferry is faster than the tram."),
        ("The oak stands by the gate. It is 21 metres tall. The ash is 14 metres tall.",
         "The oak is taller than the ash.", "The ash is taller than the oak."),
        ("A ferry ticket costs 12 euros, a taxi ride costs 36 euros.",
         "A taxi ride costs three times as much as a ferry ticket.",
         "A taxi ride costs twice as much as a ferry ticket."),
        ("Elmau hat 900 Betten, Murnau hat 400 Betten.", "Elmau hat mehr Betten als Murnau.",
         "Murnau hat mehr Betten als Elmau."),
        ("Rinse the filter every week.", "Every week the filter is rinsed.",
         "Rinse the filter every week and lubricate the hinge."),
        ("Pupils pay half at the gate.", "Half is paid by pupils at the gate.",
         "Pupils and veterans pay half at the gate."),
        ("The lease runs for 24 months and is extended by a year unless one side objects.",
         "Unless one side objects, the lease is extended by a year.",
         "The lease is extended by a year."),
        ("Pupils pay half if they bring a pass.", "With a pass pupils pay half.",
         "Pupils pay half, even without a pass."),
        ("Eine Meldung ist nur schriftlich gültig.", "Eine Meldung muss schriftlich sein.",
         "Eine Meldung muss nicht schriftlich sein."),
        ("Das Paket kommt bis spätestens 7 Uhr.", "Spätestens um 7 Uhr kommt das Paket.",
         "Das Paket kommt frühestens um 7 Uhr."),
        ("The value may be falsely raised.", "The value might be falsely raised.",
         "The value is falsely raised."),
        ("Guests with a weak heart take half the dose.",
         "Half the dose is taken by guests with a weak heart.", "Guests take half the dose."),
        ("The shop is open from 9 am to 5 pm. It is closed on Sundays and public holidays.",
         "On public holidays the shop is closed.", "The shop is open on public holidays."),
        ("Bertha Lang was mayor of Aldern from 1961 to 1970. Ida Moss led the school.",
         "From 1961 to 1970 Bertha Lang was mayor of Aldern.",
         "Ida Moss was mayor of Aldern from 1961 to 1970."),
        ("The ferry has run to the island since 1998.", "The ferry has run since 1998.",
         "The ferry has run to the island until 1998."),
        ("Seit 1998 fährt die Fähre zur Insel.", "Die Fähre zur Insel fährt seit 1998.",
         "Bis 1998 fährt die Fähre zur Insel."),
        ("The old hall was built by the mill, and is now a museum.",
         "The old hall was built by the mill.", "The old hall is to be built by the mill."),
        ("The company tried to sell its share of the port.",
         "The company sought to sell its share of the port.",
         "The company managed to sell its share of the port."),
        ("Heavy rain led to floods in the lower town.",
         "Heavy rain resulted in floods in the lower town.",
         "Heavy rain resulted from floods in the lower town."),
        ("The valve usually closes within a minute.", "The valve often closes within a minute.",
         "The valve always closes within a minute."),
        ("Deliveries arrive in the first week of each month.",
         "Deliveries arrive in the first week.",
         "Deliveries fail to arrive in the first week of each month."),
        ("The repair costs $640 Parts are extra.", "The repair costs $640.",
         "The repair costs €640."),
        ("Name\tRent\tLift\nIvy Barn\t$640\tno\nOak Hall\t$90\tno", "The rent of Ivy Barn is $640.",
         "The rent of Ivy Barn is $90."),
        ("The kit contains:\n- a torch\n- two blankets\n- a whistle",
         "The kit contains a torch and a whistle.",
         "The kit does not contain a torch and a whistle."),
        ("Name: Ivy Barn\nRent: 640 euros\nDeposit: 90 euros\nFloor: ground",
         "The rent of Ivy Barn is 640 euros.", "The rent of Ivy Barn is 90 euros."),
        ("The tenant must notify the owner 14 days before moving out.",
         "The owner must be notified by the tenant 14 days before moving out.",
         "The tenant must be notified by the owner 14 days before moving out."),
        ("The plan runs for ten-year periods and costs $2.5 million.",
         "The plan runs for 10-year periods and costs $2,500,000.",
         "The plan runs for 12-year periods and costs $2,500,000."),
        ("Rent is due every 21 days.", "Rent is due every twenty-one days.",
         "Rent is due every twenty-two days."),
        ("The desk lends:\n- maps\n- lamps\n- two tents\n- a rope",
         "The desk lends maps, lamps and a rope.", "The desk lends maps, ladders and a rope."),
        ("The desk lends:\n- maps\n- lamps\n- two tents\n- a rope",
         "The desk lends a rope, maps and lamps.", "The desk lends ladders, maps and a rope."),
        ("The Kite 3 costs 80 euros, the Wren 2 costs 55 euros.", "The Wren 2 costs 55 euros.",
         "The Wren 2 costs 80 euros."),
    ],
)  # fmt: skip
def test_one_word_of_a_closed_class_tells_a_copy_from_its_source(
    source: str, same: str, other: str
) -> None:
    assert veto(source, source) == ""
    assert veto(same, source) == ""
    assert veto(other, source) != ""


def test_a_number_with_groups_and_a_fraction_is_read() -> None:
    assert foreign_figures("It took 1,234.5 hours.", "It took 1,234.5 hours.") == []
    assert foreign_figures("It took 1,234.5 hours.", "It took 1,234.6 hours.") == ["1,234.5"]


def test_units_of_one_dimension_that_cannot_be_converted_differ() -> None:
    assert foreign_measures("It costs 5 dollars.", "It costs 5 euros.") == ["5 dollars"]
    assert foreign_measures("It costs 5 euros.", "It costs 5 euros, or 5 dollars.") == []
    assert foreign_measures("12 months", "one year is a year, every year") == []


def test_what_a_source_asks_and_answers_with_no_is_not_so() -> None:
    source = "Tom: Did the parcel from Oslo arrive?\n\nLea: No, it was lost."
    assert veto("The parcel from Oslo was lost.", source) == ""
    assert veto("The parcel from Oslo arrived.", source) != ""


def test_what_is_asked_under_a_condition_may_be_answered_without_it() -> None:
    source = "The rent may be cut if the heating fails."
    for question, told in (("What if the heating fails?", ""), ("What of the rent?", "else")):
        assert told in find_veto("The rent may be cut.", [source], question, {*words(source)})


def test_another_word_for_what_was_spoken_of_before_is_no_other_thing() -> None:
    source = "The kettle is loud. The device turns off after 40 minutes."
    assert veto("The kettle turns off after 40 minutes.", source) == ""


def test_a_sentence_that_is_cut_or_says_a_part_of_it_twice_is_compared() -> None:
    cut = "The old workshop repairs heavy bicycles for the"
    assert veto("The old workshop repairs heavy bicycles for tailors.", cut) == ""
    twice = "Dock 5 takes coal, ships 7 sail, Dock 5 takes coal"
    assert veto("Dock 5 takes coal, ships 7 sail.", twice) == ""


def test_members_of_a_list_and_what_is_mutual_may_change_places() -> None:
    for claim, source in (
        ("Salt, flour and water are mixed.", "Water, flour and salt are mixed."),
        ("Bern borders Thun.", "Thun borders Bern."),
        ("Frau Berger genehmigt die Anträge.", "Die Anträge genehmigt Frau Berger."),
    ):
        assert veto(claim, source) == ""


@pytest.mark.parametrize("piece", [" ", "  \n", "\t"])
def test_a_statement_of_blanks_is_judged_in_a_time_that_is_in_proportion(piece: str) -> None:
    """What looks at the rest of a run of blanks at each of them takes minutes here."""
    claim = f"The fee is 5{piece * (200_000 // len(piece))} francs."
    assert find_veto(claim, ["The fee is 5 francs."], "", {"fee", "francs"}) == ""


def test_a_statement_of_many_clauses_is_compared_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0

    def counted(one: str, other: str) -> bool:
        nonlocal compared
        compared += 1
        return same_word(one, other)

    monkeypatch.setattr(order, "same_word", counted)
    claim = " ".join(f"all pumps{n} run," for n in range(150))
    assert veto(claim, claim) == ""
    assert compared < 100_000  # of 24 million pairs
    assert "such figure" in veto(f"{claim} and all pumps300 hold 900 litres.", claim)
