-- Numbers with their signs, units, magnitudes and currencies, which a quotation must not part.

CREATE OR REPLACE FUNCTION rag._is_stop_word(word text)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
BEGIN
    RETURN ts_lexize('pg_catalog.english_stem', word) = '{}'
        OR ts_lexize('pg_catalog.german_stem', word) = '{}'
        OR ts_lexize('pg_catalog.french_stem', word) = '{}'
        OR ts_lexize('pg_catalog.spanish_stem', word) = '{}'
        OR ts_lexize('pg_catalog.russian_stem', word) = '{}'
        OR ts_lexize('pg_catalog.italian_stem', word) = '{}'
        OR ts_lexize('pg_catalog.portuguese_stem', word) = '{}'
        OR ts_lexize('pg_catalog.dutch_stem', word) = '{}'
        OR ts_lexize('pg_catalog.danish_stem', word) = '{}'
        OR ts_lexize('pg_catalog.swedish_stem', word) = '{}'
        OR ts_lexize('pg_catalog.norwegian_stem', word) = '{}'
        OR ts_lexize('pg_catalog.finnish_stem', word) = '{}'
        OR ts_lexize('pg_catalog.hungarian_stem', word) = '{}'
        OR ts_lexize('pg_catalog.turkish_stem', word) = '{}';
END
$$;

COMMENT ON FUNCTION rag._is_stop_word IS
$$Whether a word, in small letters, is a stop word of one of PostgreSQL's dictionaries.$$;


CREATE OR REPLACE FUNCTION rag._references()
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ' article articles artikel artikels artículo artículos articolo articoli artigo artigos'
    ' section sections sección secciones sezione figure figures figura figuras figur table'
    ' tables tabla tablas tableau tableaux tabela tabelle tabella chapter chapters chapitre'
    ' chapitres capítulo capítulos capitolo kapitel hoofdstuk clause clauses cláusula annex'
    ' annexe anexo allegato bijlage appendix paragraph paragraphs paragraphe párrafo parágrafo'
    ' paragrafo equation equations schedule volume page pages página páginas pagina abbildung'
    ' absatz abschnitt seite seiten anhang anlage ziffer satz step steps schritt version'
    ' directive richtlinie verordnung regulation ley статья статье статьи статью пункт пункта'
    ' пункте глава главе главы главу раздел раздела таблица таблице таблицы рисунок рисунка'
    ' рисунке страница странице страницы приложение приложения приложению άρθρο άρθρου madde'
    ' مادة المادة رقم الفصل סעיף פרק धारा अनुच्छेद अध्याय tabel seccion articulo articulos'
    ' capitulo clausula parrafo paragraf paragraphes parágrafos pagine annexes rfc пункту'
    ' таблицу рисунку страницу разделе разделу приложении ';

COMMENT ON FUNCTION rag._references IS
$$What is referred to by its number, in small letters, each between blanks.$$;


CREATE OR REPLACE FUNCTION rag._is_unit(word text)
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN length(word) < 2
    -- also stop words, in one language or another
    OR word = ANY('{am,da,defa,em,ha,in,kez,lei,li,ma,mes,mi,mia,min,mio,mu,per,por,pour,sen'
        ',som,ton,var,vi,раз}')
    OR NOT rag._is_stop_word(word);

COMMENT ON FUNCTION rag._is_unit IS
$$Whether the word behind a number may be its unit (5 mg, 5 million, 5 days): any word but the stop
words of PostgreSQL's dictionaries (in 2020 the, 5 of), without those that are units as well.$$;


CREATE OR REPLACE FUNCTION rag._parts_figures(form text)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    _before CONSTANT text := rtrim(split_part(form, E'\x03', 1));
    _after CONSTANT text := ltrim(split_part(form, E'\x03', 2));
    _marks CONSTANT text := E'0123456789.,;:!?()[]{}<>|$\u20AC\u00A3"''/+=*-\x01\x02';
    _spans CONSTANT text := E' to or till until through bis oder a a\u0300 ou o до или and und et'
        ' y и x out of by von aus mal sur из ';
    _signs CONSTANT text := ' h hr hrs st std min m km kg ft lb lbs a p am pm eu ec eg ue ce minus'
        ' минус moins menos meno negative plus no nr ';
    _last text := '-';  -- the words beside the edge
    _next text := '-';
BEGIN
    -- first whether a word or a sign of one stands beside the edge and a figure beyond it, as that
    -- takes a hundredth of the time
    IF ascii(ltrim(_after, '$.) ')) BETWEEN 48 AND 57 THEN
        _last := ' ' || split_part(
            rtrim(translate(_before, _marks, rpad('', 40))), ' ', -1) || ' ';
    END IF;
    IF ascii(right(_before, 1)) BETWEEN 48 AND 57 OR _before LIKE '%out'
        OR _before LIKE '%between %' OR _before LIKE '%zwischen %' OR _before LIKE '%entre %'
        OR _before LIKE '%между %' OR _after LIKE 'minus %' OR _after LIKE 'plus %' THEN
        _next := ' ' || split_part(
            ltrim(translate(_after, _marks, rpad('', 40))), ' ', 1) || ' ';
    END IF;
    RETURN (strpos(_spans, _last) > 0 OR strpos(_spans, _next) > 0 OR strpos(form, E'\u00B7') > 0)
        AND form ~ (
        E'[0-9](?: ?\x03 ?(?:to|or|till|until|through|bis|oder|a\u0300?|ou|o|до|или) '
        '| (?:to|or|till|until|through|bis|oder|a\u0300?|ou|o|до|или) ?\x03 ?)[$]?[0-9]'
        '|(?:between|zwischen|entre|между) [^ ]+'
        '(?: ?\x03 ?(?:and|und|et|y|и) | (?:and|und|et|y|и) ?\x03 ?)[$]?[0-9]'
        '|[0-9] ?x ?\x03 ?[0-9]|[0-9] ?\x03 ?x ?[0-9]'
        -- no year
        || E'|(?:^|[^0-9])[0-9]{1,3}(?: out)?'
        '(?: ?\x03 ?(?:(?:out )?of|by|von|aus|mal|sur|из|\u00B7) '
        '| (?:(?:out )?of|by|von|aus|mal|sur|из|\u00B7) ?\x03 ?)[0-9]')
    OR ' in ' IN (_last, _next) AND form LIKE '%1%in %' AND form ~  -- no year
        E'(?:^|[^0-9.,])1(?: ?\x03 ?in | in ?\x03 ?)(?!(?:19|20)[0-9]{2}(?![0-9]))[0-9]'
    OR (strpos(_signs, _last) > 0 OR strpos(_signs, _next) > 0
        OR strpos(form, E'(\x03') + strpos(form, E'\x03(') > 0
        OR translate(form, E'§°\u110B', '') <> form) AND form ~ (
        -- prime minus 1 %, Op. 27 No. 2
        E'[a-z] ?\x03 ?(?:minus|plus) [0-9.,]+ ?%|[0-9],? ?\x03,? ?(?:no|nr)[.] ?[0-9]|'
        '[0-9] ?(?:h|hrs?|std|min|m|km|kg|ft|lbs?|st) ?\x03 ?[0-9.]+'
        ' ?(?:min|m|s|sec|sek|cm|mm|g|in|oz|lbs?|hrs?)(?![a-z])'
        '|[0-9] ?h ?\x03 ?[0-5][0-9](?![0-9])|'
        -- a section, a sign in words, a time
        || E'(?:§|n°|minus|минус|(?:^|[^a-z])(?:moins|menos|meno|min|negative)'
        '|\u110B\u1167\u11BC\u1112\u1161)'
        ' ?\x03 ?[0-9]'
        '|[(](?:e[ucg]|[uc]e)(?:[)] ?\x03|\x03[)]) ?[0-9]|[0-9] ?\x03 ?[ap][.]? ?m(?![a-z])'
        -- a call
        || E'|[0-9a-z](?:\x03[(]|[(]\x03)[0-9]');
END
$$;

COMMENT ON FUNCTION rag._parts_figures IS
$$Whether the character 3 parts in a form what words make one with a figure: a range (5 to 10,
between 5 and 10), a product or a share (5 x 10, 5 by 10, 5 of 10), an amount of two units (5 h 30
min), a section (§ 5), a law of the Union, an opus (Op. 27 No. 2), a sign in words, a rate (prime
minus 1 %), a time (5 p.m.), a call (rgb(1, 2)).$$;


CREATE OR REPLACE FUNCTION rag._numeral_class(word text)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    _words CONSTANT text := E' o: one two three four five six seven eight nine d: ten eleven'
        ' twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen t: twenty thirty'
        ' forty fifty sixty seventy eighty ninety h: hundred thousand million billion H: hundert m:'
        ' millions billions trillion trillions dozen cent cents mille mil millones milliard'
        ' milliards tausend millionen milliarde milliarden r: deux trois quatre cinq dix dos'
        ' tres cien zwei drei vier f\u00FCnf sechs sieben acht neun zehn anderthalb'
        ' eineinhalb zweieinhalb dreieinhalb s: cuatro cinco seis siete ocho nueve onze x:'
        ' zero diez u: un une uno una e: ein eine a: a an j: and et y und w: in n: minus'
        ' moins menos z: treinta cuarenta cincuenta sesenta setenta ochenta noventa vingt trente'
        ' quarante cinquante soixante k: half f: halves third thirds quarter quarters fourths'
        ' fifths sixths sevenths eighths ninths tenths hundredths thousandths demi demie'
        ' tiers quart quarts cinqui\u00E8me cinqui\u00E8mes tercio tercios cuarto cuartos'
        ' medio media drittel viertel f\u00FCnftel sechstel zehntel l: hour hours stunde'
        ' stunden heure heures hora horas degree degrees year years foot feet stone p: minute'
        ' minutes minuten pound pounds q: minuto minutos second seconds seconde secondes'
        ' sekunde sekunden segundo segundos inch inches month months ounce ounces pence'
        ' shilling shillings ';
    _at CONSTANT integer := strpos(_words, ' ' || word || ' ');
BEGIN
    RETURN CASE WHEN ascii(right(word, 1)) BETWEEN 48 AND 57 THEN '0'
        WHEN word = '' OR _at = 0 OR right(word, 1) = ':' THEN '.'
        ELSE right(split_part(left(_words, _at), ':', -2), 1) END;
END
$$;

COMMENT ON FUNCTION rag._numeral_class IS
$$The class of a word, in small letters, in numbers in words: o, d, t, h, H, r, s, x, z numbers, m
magnitudes, f fractions, k half, u, e, a articles, j and, w in, n minus, l, p, q units; 0 for one
that ends with a figure, a full stop for any other.$$;


CREATE OR REPLACE FUNCTION rag._parts_numeral(before text, after text, is_end boolean)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    _before CONSTANT text := rag._lower(rtrim(translate(before, E'\n-', '  ')));
    _last CONSTANT text := split_part(_before, ' ', -1);
    _class CONSTANT text := rag._numeral_class(_last);
    _next text;
    _shape text;  -- the classes of three words before the edge and four behind it
BEGIN
    IF _class = '.' OR left(after, 1) NOT IN (' ', E'\n') THEN
        RETURN false;
    END IF;
    _next := rtrim(split_part(ltrim(translate(after, E'\n', ' ')), ' ', 1), '.,;:!?)"');
    IF is_end AND _next <> '' AND strpos('odthHrsz', _class) > 0 AND _last <> 'one'
        AND (_next IN ('per', 'percent', 'Prozent') OR rag._is_unit_name(_next)
            OR _next LIKE '(%' OR strpos(rag._money(), ' ' || _next || ' ') > 0) THEN
        RETURN true;
    END IF;
    _shape := rag._numeral_class(split_part(_before, ' ', -3))
        || rag._numeral_class(split_part(_before, ' ', -2)) || _class || '|';
    FOREACH _next IN ARRAY (array_remove(string_to_array(
        translate(rag._lower(after), E'\n', ' '), ' '), ''))[:4] LOOP
        _shape := _shape || rag._numeral_class(split_part(
            translate(_next, E'.,;:!?)"*_/\u2013\u2014\u2019\u201D\u2026', rpad('', 15)), ' ', 1));
    END LOOP;
    RETURN translate(split_part(_shape, '|', 2), '.0aejlnw', '') <> '' AND _shape ~ (
        -- two thirds, 2 and a half
        '[0odhrsue](?:[|]j?[auo]?|j[|][auo]|j[auo][|])[fk]'
        -- twenty five, vingt et un
        '|t[|]o|z(?:[|]j|j[|])[usr]'
        -- two hundred, half a million, hundred and five
        '|(?:[odthrH][|]|k[|]a|ka[|])[hHm]|h(?:[|]j?|j[|])[odt]'
        -- one in ten
        '|[od](?:[|]w|w[|])[odth]'
        -- two hours fifteen minutes, minus five
        '|[0aodtrseu][lp][|]j?[^|][pq]|n[|][odtrsx]');
END
$$;

COMMENT ON FUNCTION rag._parts_numeral IS
$$Whether the edge between two texts parts a number in words, or a fraction: two thirds, 2 and a
half, twenty five, two hundred and six, half a million, two hours fifteen minutes, minus five; or
that from its unit (twenty per cent); in English, and some in French, Spanish and German.$$;


CREATE OR REPLACE FUNCTION rag._currencies()
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ' AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD'
    ' BTC BTN BWP BYN BZD CAD CDF CHF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN'
    ' ETB ETH EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HRK HTG HUF IDR ILS INR'
    ' IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD'
    ' MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR'
    ' PAB PEN PGK PHP PKR PLN PYG QAR RMB RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE'
    ' SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS'
    ' VES VND VUV WST XAF XCD XOF XPF YER ZAR ZMW ZWL US$ CA$ AU$ A$ C$ HK$ NZ$ S$ R$ Rs'
    ' Fr kr ';

COMMENT ON FUNCTION rag._currencies IS
$$Codes of currencies (ISO 4217) and what is written before an amount like them, each between
blanks.$$;


CREATE OR REPLACE FUNCTION rag._money()
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN rag._currencies() || ' euro euros dollar dollars pound pounds cent cents Euro Dollar Cent '
    || E'\u20AC \u00A3 \u00A5 $ ';

COMMENT ON FUNCTION rag._money IS
$$Currencies as they stand behind an amount, each between blanks.$$;


CREATE OR REPLACE FUNCTION rag._units()
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN E' m g l km kg kl cm cg cl mm mg ml dm dg dl nm ng nl um ug ul \u00B5m \u00B5g \u00B5l'
    ' \u03BCm \u03BCg \u03BCl Hz kHz MHz GHz kB kiB kbit kW kWh MB MiB Mbit MW MWh GB GiB'
    ' Gbit GW GWh TB TiB Tbit TW TWh Wh H S bit kV MV mV Pa kPa MPa hPa mA kA kJ MJ cal kcal'
    ' kN s ms ns min h ha t hl oz lb lbs ft yd mph ppm bps mol mmol percent Prozent'
    ' thousand million millions billion billions trillion trillions tausend Tausend'
    ' Million Millionen Milliarde Milliarden Mio Mrd milliard milliards mil mill millones'
    ' mill\u00F3n millon L mL cL dL M G T ';

COMMENT ON FUNCTION rag._units IS
$$Units and magnitudes that stand behind a number, each between blanks.$$;


CREATE OR REPLACE FUNCTION rag._is_unit_name(word text)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    -- lists, not a regular expression, which takes half a millisecond to be compiled
    _symbols CONSTANT text := ' bar Pa Hz eV Sv Gy Bq mol lx lm cd Wh Ah VA rad cal ';
    _name CONSTANT text := rag._lower(left(word, 1)) || substr(word, 2);
    _prefix CONSTANT integer := CASE
        WHEN strpos(' kilo mega giga tera deci dezi deca deka nano ',
            ' ' || left(_name, 4) || ' ') > 0 THEN 4
        WHEN strpos(' chilo centi zenti milli micro mikro hecto hekto ',
            ' ' || left(_name, 5) || ' ') > 0 THEN 5
        ELSE 0 END;
BEGIN
    RETURN strpos(_symbols || 'dB dBA dBm p pH IU rpm psi kn ', ' ' || word || ' ') > 0
        OR strpos(E'kMGTm\u00B5\u03BCpncdh', left(word, 1)) > 0
            AND strpos(_symbols, ' ' || substr(word, 2) || ' ') > 0
        OR length(word) = 2 AND strpos(E'kMGm\u00B5\u03BCn', left(word, 1)) > 0
            AND strpos(E'NJWVAHSFT\u03A9', right(word, 1)) > 0
        OR strpos(E' meter meters metern metre metres m\u00E8tre m\u00E8tres metro metros metri'
            ' gram grams gramm gramms gramme grammes grammo grammi gramo gramos liter liters litern'
            ' litre litres litro litros litri watt watts volt volts amper ampers ampere amperes'
            ' amp\u00E8re amp\u00E8res hertz pascal pascals joule joules byte bytes bit bits tonne'
            ' tonnes tonnen ton tons second seconds seconde secondes secondo secondi sekunde'
            ' sekunden ', ' ' || substr(_name, _prefix + 1) || ' ') > 0
        OR strpos(E' inch inches feet mile miles yard yards ounce ounces hectare hectares hektar'
            ' acre acres gallon gallons degree degrees grad grado grados gradi degr\u00E9'
            ' degr\u00E9s minut minute minutes minuten minuto minutos minuti hour hours'
            ' stunde stunden heure heures hora horas day days tage tagen jour jours giorno'
            ' giorni week weeks woche wochen semaine semaines semana semanas settimana'
            ' settimane month months monate monaten mois meses year years jahre jahren ans'
            ' anni anno segundo segundos d\u00EDa d\u00EDas ann\u00E9es a\u00F1o a\u00F1os ',
            ' ' || _name || ' ') > 0;
END
$$;

COMMENT ON FUNCTION rag._is_unit_name IS
$$Whether a word is a unit with its prefix (mbar), or the name of one or of a time in English,
German, French, Spanish or Italian.$$;


CREATE OR REPLACE FUNCTION rag._is_measure(word text)
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN strpos(rag._units() || rag._money(), ' ' || word || ' ') > 0 OR rag._is_unit_name(word);

COMMENT ON FUNCTION rag._is_measure IS
$$Whether a word is a unit, a magnitude or a currency that stands behind a number.$$;


CREATE OR REPLACE FUNCTION rag._has_no_unit(quoted text, behind text)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- a time of day, a number that tells which
RETURN (right(quoted, 3) LIKE ':__' AND behind <> 'uhr'
            AND quoted ~ '(?:^| )[0-9]{1,2}(?::[0-5][0-9]){1,2}$'
        OR strpos(rag._references(), ' ' || split_part(quoted, ' ', -2) || ' ') > 0)
    AND NOT rag._is_measure(behind)
-- first whether it ends with four figures, or with those of a month and a day
    OR translate(right(quoted, 3), '0123456789-', '') = '' AND quoted ~ (
    E'(?:^|[^0-9.,/-])(?:[0-9]{1,2}[./][0-9]{1,2}[./][0-9]{4}|[0-9]{4}-[0-9]{2}-[0-9]{2})$'
    '|(?:year|fy|[hq][1-4]|jahre?[ns]?|anne\u0301e|an|an\u0303o|anno|ano|jaar|a\u030Ar(?:et)?|roku?'
    '|год[ау]?) [0-9]{4}$'
    '|(?:^|[^a-z])(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec|mai|ma\u0308rz|okt|dez'
    '|jan[uv]|fe\u0301?[bv]r|enero|mars|marzo|a[bv]ri?|mayo|juin|jui|juni|juli|aou\u0302t|ago'
    '|dici?|de\u0301c)[a-z]*[.]?(?: de)?(?: [0-9]{1,2})?,? [0-9]{4}$');

COMMENT ON FUNCTION rag._has_no_unit IS
$$Whether a quotation, in its form, ends with a number of which the word behind it is no unit: a
date or a year that says so (year 2020, March 2020, 31.12.2020); a time of day or what is referred
to by it (at 9:30, version 2.5, page 5) where that word is no unit by itself.$$;


CREATE OR REPLACE FUNCTION rag._months()
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN E' january february march april may june july august september october november december'
    ' januar februar märz mai juni juli oktober dezember janvier février mars avril juin'
    ' juillet août septembre octobre novembre décembre enero febrero marzo abril mayo junio'
    ' julio agosto septiembre octubre noviembre diciembre gennaio febbraio aprile maggio giugno'
    ' luglio settembre ottobre dicembre januari februari maart juni augustus ';

COMMENT ON FUNCTION rag._months IS
$$Names of months in English, German, French, Spanish, Italian and Dutch, in small letters, each
between blanks.$$;


CREATE OR REPLACE FUNCTION rag._magnitudes()
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ' tsd mio mrd mil mill mll mln mld bn mn thousand hundred tausend mille million millions'
    ' millionen billion billions billionen trillion trillions trillionen milliard milliards'
    ' milliarde milliarden billiarde billiarden millones mill' || E'\u00F3n тыс млн млрд ';

COMMENT ON FUNCTION rag._magnitudes IS
$$Magnitudes that a currency may follow, in small letters, each between blanks.$$;


CREATE OR REPLACE FUNCTION rag._parts_amount(before text, after text)
RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    _edge CONSTANT text := normalize(before || E'\x03' || after, NFKC);
    -- a figure, a word or a figure, the edge, a word or a figure; $ is a letter
    _found text[];
    _last text;
    _next text;
    _words CONSTANT text[] := string_to_array(
        btrim(translate(after, E'\n*_,.;:!?)', '         ')), ' ');
    _month CONSTANT text := rag._lower(
        _words[CASE WHEN _words[1] IN ('of', 'de') THEN 2 ELSE 1 END]);
    _with_year text;  -- the word before a year
    _end CONSTANT text := rtrim(split_part(_edge, E'\x03', 1), E'*_ \n');
BEGIN
    -- a figure there, less a word behind it, is told in a third of the time
    IF _edge !~ E'[0-9][^0-9A-Za-z\\x03]*(?:(?:st|nd|rd|th)? ?[A-Za-z]+|mill\u00F3n)?'
        '[^0-9A-Za-z\\x03]*\\x03|\\x03[^0-9A-Za-z\\x03]*(?:de |of )?[0-9]' THEN
        RETURN false;
    END IF;
    _found := regexp_match(_edge, E'(?:([0-9])[^0-9A-Za-z\\x03]*)?'
        '([0-9](?!\\x03?[.])|[^\\x01-#%-@[-`{-\\x7F]+[.]?)[*_' || rag._unseen()
        || E']*\\x03(?:[.]?[*_' || rag._unseen() || E']+)?((?:per|pour|por) c(?:ent|iento)|'
        '[^\\x01-#%-@[-`{-\\x7F]+(?![0-9])|[0-9])');
    IF strpos(rag._months(), ' ' || _month || ' ') > 0
        AND before ~ E'[0-9](?:st|nd|rd|th|er)?(?: of| de)?[*_ \n]*$' THEN
        RETURN true;  -- 4th of July
    ELSIF left(ltrim(after, E',*_ \n'), 1) IN ('1', '2', 'd', 'o') THEN
        -- March 2027, March 15, 2027
        _with_year := rag._lower(substring(_edge FROM E'([[:alpha:]]{3,})'
            '(?:[.]?[ \n]+[0-9]{1,2}(?:st|nd|rd|th)?(?:,?[*_ \n]*\x03|[*_ \n]*\x03,)|[*_ \n]*\x03)'
            '[*_ \n]*(?:de |of )?[12][0-9]{3}(?![0-9.,]?[0-9])'));
        IF strpos(rag._months(), ' ' || _with_year
            || CASE WHEN length(_with_year) > 4 THEN ' ' ELSE '' END) > 0 THEN
            RETURN true;
        END IF;
    END IF;
    _last := ' ' || rtrim(_found[2], '.') || ' ';
    _next := ' ' || _found[3] || ' ';
    RETURN CASE
        WHEN _found IS NULL THEN false
        WHEN _last BETWEEN ' 0' AND ' 9 ' THEN
            rag._is_measure(_found[3]) OR _next LIKE ' p% c%'
            OR strpos(rag._months(), rag._lower(_next)) > 0
        WHEN _found[1] IS NOT NULL AND strpos(rag._magnitudes(), rag._lower(_last)) > 0 THEN
            strpos(rag._money(), _next) > 0
        WHEN _found[1] IS NOT NULL AND rag._is_measure(btrim(_last))  -- 2 hours 20 minutes
            AND (_next BETWEEN ' 0' AND ' 9 ' OR _next IN (' and ', ' und ', ' et ', ' y ')) THEN
            coalesce(rag._is_measure(substring(_edge FROM
                E'\\x03(?:[ \\n]*(?:and|und|et|y))?[ \\n]*[0-9.,]+ ?([[:alpha:]]+)')), false)
        ELSE _next BETWEEN ' 0' AND ' 9 '
            AND (strpos(rag._currencies(), _last) > 0
                OR _last ~ '^ [A-Z]{2,} $' AND _last !~ '^ [IVXLCDM]+ $'
                    AND _edge !~ E'[A-Z](?:[.][*_ \n]*\x03|\x03[.])') END
        -- degrees, feet and inches, a ratio (5 : 3), an ordinal
        OR (strpos(E'''"\u2019\u201D\u2032\u00B0', right(_end, 1)) > 0
            OR translate(right(_end, 2), '0123456789', '') IN ('.', ':', ' :')
            OR ascii(right(_end, 1)) BETWEEN 48 AND 57 AND left(ltrim(after), 1) IN ('.', ':'))
        AND _edge ~ (E'[0-9] ?\u00B0 *\x03 *[CFK](?![0-9A-Za-z])'
            '|[0-9] ?[''"\u2019\u201D\u2032\u00B0]+ *\x03 *[NSEWO](?![0-9A-Za-z])'
            '|[0-9][''\u2019\u2032] *\x03 *[0-9]+ ?["\u201D\u2033]'
            '|(?:^|[^0-9])[0-9]{1,3}(?:(?: +\x03 *| *\x03 +): *| +: *\x03 *)[0-9]'
            '|(?:^|[^0-9.,])[0-9]{1,2}[*_]*(?:[.][*_ \n]*\x03|\x03[.])[*_ \n]*(?:'
            '[Jj](?:anuar|u[nl][ij]|ahrh)|[Ff]ebruar|[Mm](?:\u00E4rz|ars|arts|a[ij])'
            '|[Aa](?:pril|ugust)|[Ss]eptember|[Oo]ktober|[Nn]ovember|[Dd]e[zsc]ember)'
            '|(?:^|[ \n])(?:der|die|das|dem|den|des|im|zum|vom|beim) [0-9]{1,2}(?:[.]\x03|\x03[.])'
            ' [A-Z\u00C4\u00D6\u00DC]');
END
$$;

COMMENT ON FUNCTION rag._parts_amount IS
$$Whether the edge between two texts, as they stand, parts an amount: a number from the unit, the
magnitude or the currency behind it, or from the currency or the capitals before it (RFC 2119), a
magnitude from the currency behind it, a ratio (5 : 3), an ordinal from what it counts (2. Mai,
19. Jahrhundert), a day from its month, or a month or a day from the year behind it (May 15,
2027).$$;
