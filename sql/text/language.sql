-- The language of a text: by its script, or by its function words.
--
-- For documents whose language nobody gives, and for questions to collections of several languages.

CREATE OR REPLACE FUNCTION rag._function_words()
RETURNS TABLE (language text, words text[])
LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
SELECT f.language, f.words
FROM (VALUES
    ('afrikaans', '{die,en,van,in,is,het,nie,wat,dat,vir,te,met,n,op,aan,as,by,sy,hy,'
        'om,ook,maar,deur,was,word,uit,na,of,hierdie,kan,wie,waar,hoe,wanneer}'::text[]),
    ('albanian', '{e,të,dhe,në,një,për,me,nga,që,është,i,si,nuk,më,janë,ka,se,ishte,'
        'por,u,këtë,ose,kur,ku,çfarë,kush}'::text[]),
    ('arabic', '{في,من,على,إلى,أن,التي,الذي,عن,مع,هذا,هذه,و,لا,ما,كان,كانت,أو,ذلك,'
        'بين,بعد,هو,هي,قد,كل,لم,ثم,متى,أين,كيف,هل,لماذا}'::text[]),
    ('azerbaijani', '{və,bir,bu,da,də,üçün,ilə,olan,çox,daha,kimi,olaraq,ən,sonra,isə,deyil,'
        'nə,hər,o,ki,ya,hansı,necə,kim}'::text[]),
    ('basque', '{eta,da,ez,bat,du,zen,ere,dira,izan,hau,baina,zuen,dute,edo,egin,beste,'
        'zer,nor,non,noiz,nola,zein,hori,bere,zuten,dela}'::text[]),
    ('belarusian', '{і,ў,не,на,што,з,у,да,як,для,ад,гэта,за,яго,але,або,пры,быў,ёсць,'
        'пра,якія,які,хто,дзе,калі,чаму}'::text[]),
    ('bulgarian', '{и,на,в,за,се,от,с,да,е,по,не,като,са,че,до,при,или,които,който,'
        'която,това,но,към,след,ще,беше,кой,какво,къде,кога,защо,колко,из}'::text[]),
    ('catalan', '{el,la,els,les,de,i,en,un,una,que,del,al,amb,per,és,dels,no,més,com,'
        'va,són,o,però,ha,aquest,aquesta,entre,quan,ser,què,quin,quina,on,qui,l,'
        'd,s,també,als,pel,des,seva,seu}'::text[]),
    ('czech', '{a,v,se,na,je,že,to,s,z,do,o,i,jako,ve,pro,by,ale,k,po,jsou,od,'
        'byl,nebo,který,která,které,co,kdo,kde,kdy,jak,není,za,tím,být}'::text[]),
    ('danish', '{og,i,at,er,en,et,det,den,til,på,af,med,for,der,som,de,ikke,var,fra,'
        'har,blev,men,sig,også,hun,han,efter,ved,om,kan,havde,eller,hvad,hvem,'
        'hvor,hvornår,hvordan,hvilken,hvilke,hvorfor,denne,dette,skal,være,noget,'
        'meget,kun,selv,nu,kunne,ville,hvis,bliver,deres,mod,mange,flere}'::text[]),
    ('dutch', '{de,het,een,en,van,in,is,dat,op,te,zijn,met,voor,niet,aan,er,om,ook,'
        'als,door,bij,of,uit,naar,werd,was,deze,dit,die,hij,zij,ze,wordt,worden,'
        'heeft,over,tot,maar,wat,wie,hoe,waar,wanneer,welke,waarom,veel,geen,je,'
        'kan}'::text[]),
    ('english', '{the,of,and,to,in,is,was,for,that,with,as,on,by,at,from,are,this,be,'
        'were,which,an,or,it,not,his,her,he,she,they,their,has,had,have,been,'
        'but,you,we,can,will,what,who,how,when,where,why,does,did,do,would,many,'
        'there}'::text[]),
    ('esperanto', '{la,de,kaj,en,al,estas,ne,por,kun,ke,li,mi,ĝi,sed,aŭ,el,tio,kiu,kio,'
        'kie,kiam,kiel}'::text[]),
    ('estonian', '{ja,on,ei,et,see,oli,mis,kui,ta,ka,oma,aga,või,ning,kes,selle,nii,'
        'tema,pole,mida,kus,millal,kuidas,miks,ole,olid,saab}'::text[]),
    ('finnish', '{ja,on,ei,että,se,oli,joka,hän,ovat,mutta,myös,kun,kuin,sen,tai,ole,'
        'jos,niin,tämä,voi,jotka,mitä,kuka,missä,milloin,miten,mikä,kuinka,olla,'
        'sekä,ollut,hänen}'::text[]),
    ('french', '{le,la,les,de,des,et,en,un,une,du,que,qui,dans,est,pour,par,sur,au,'
        'aux,avec,il,elle,ne,pas,plus,ce,cette,ces,son,sa,ses,sont,été,être,ou,'
        'où,mais,comme,l,d,qu,se,leur,ont,quel,quelle,quels,quelles,combien,'
        'quand,comment,pourquoi,je,vous,nous}'::text[]),
    ('galician', '{o,a,os,as,de,e,en,un,unha,que,do,da,dos,das,no,na,se,por,con,para,'
        'é,ao,non,máis,como,foi,son,ou,pero,súa,seu,pola,polo,tamén,ser,quen,'
        'cal,cando,onde}'::text[]),
    ('german', '{der,die,das,und,in,den,von,zu,mit,ist,im,des,dem,für,auf,ein,eine,'
        'nicht,sich,als,auch,es,an,wird,werden,war,aus,bei,einer,einem,einen,'
        'eines,er,sie,nach,wie,wurde,zum,zur,sind,oder,dass,über,durch,hat,was,'
        'wer,wann,wo,warum,welche,welcher,welches,viele,ihr,kann,nur,noch}'::text[]),
    ('hebrew', '{של,את,על,לא,הוא,עם,זה,היא,או,כי,אל,גם,אם,כל,היה,יותר,מה,מי,איפה,'
        'מתי,אני,אשר}'::text[]),
    ('hindi', '{के,में,की,है,और,से,का,को,पर,ने,कि,यह,इस,हैं,एक,भी,नहीं,था,क्या,वह,'
        'लिए,कर,कौन,कब,कहाँ}'::text[]),
    ('hungarian', '{a,az,és,hogy,nem,is,egy,volt,van,meg,ez,de,csak,el,mint,már,azt,ki,'
        'még,vagy,ha,mi,hol,mikor,hogyan,milyen,miért,ezt,lesz,szerint,után,majd,'
        'minden}'::text[]),
    ('icelandic', '{og,í,að,er,á,sem,til,við,um,það,en,með,fyrir,var,ekki,af,frá,hann,'
        'hún,ég,þú,þess,þetta,eru,eða,hefur,þegar,hvað,hver,hvar}'::text[]),
    ('indonesian', '{yang,dan,di,dari,untuk,dengan,pada,ini,itu,adalah,dalam,tidak,ke,akan,'
        'oleh,sebagai,atau,juga,telah,ada,dapat,lebih,tersebut,bisa,apa,siapa,'
        'kapan,mana,bagaimana,mengapa,kepada,karena,saya,anda}'::text[]),
    ('irish', '{an,na,agus,ar,is,le,i,a,do,go,de,as,ag,ní,tá,bhí,sé,sí,mar,nó,seo,'
        'sin,ach,atá,faoi,ó,cad,cé,conas,cathain,bhfuil,raibh,leis}'::text[]),
    ('italian', '{il,la,lo,i,gli,le,di,e,in,un,una,che,del,della,dei,delle,dal,dalla,'
        'nel,nella,per,con,è,non,si,sono,da,al,alla,come,più,ma,anche,o,l,'
        'dell,all,nell,stato,chi,quale,quando,dove,perché,quanti,questo,questa,ha}'::text[]),
    ('kazakh', '{және,мен,бұл,бар,үшін,да,де,деп,емес,бір,осы,ол,болып,туралы,бойынша}'::text[]),
    ('latvian', '{un,ir,ar,no,uz,kas,par,ka,tas,bija,kā,vai,arī,pēc,lai,pie,nav,bet,'
        'tiek,ko,kur,kad,kāpēc,šī,šis,ja,var,tika}'::text[]),
    ('lithuanian', '{ir,yra,kad,į,iš,su,ne,buvo,tai,kaip,nuo,o,bet,jis,už,per,taip,jo,'
        'arba,po,apie,kas,kur,kada,kodėl,kuris,kiek,šis,ši,būti,gali}'::text[]),
    ('macedonian', '{и,на,во,за,се,од,со,да,е,по,не,како,што,до,или,кои,кој,која,ова,но,'
        'ќе,беше,каде,кога,зошто,колку,ги,го,му}'::text[]),
    ('marathi', '{आणि,आहे,या,च्या,हे,ते,व,आहेत,नाही,एक,होते,करून,ही,तर,केला,साठी,काय,'
        'कोण}'::text[]),
    ('nepali', '{र,को,मा,छ,ले,यो,हो,पनि,छन्,गर्न,लागि,का,एक,भएको,गरेको,तथा,त्यो,हुन्,'
        'के,कसरी}'::text[]),
    ('norwegian', '{og,i,at,er,en,et,det,den,til,på,av,med,for,som,de,ikke,var,fra,har,'
        'ble,men,seg,også,hun,han,etter,ved,om,kan,hadde,eller,hva,hvem,hvor,'
        'når,hvordan,hvilken,hvilke,hvorfor,denne,dette,skal,blir,mot,være,noe,mye,'
        'bare,selv,nå,kunne,ville,hvis,deres,mange,flere}'::text[]),
    ('persian', '{و,در,به,از,که,این,را,با,است,برای,آن,یک,بر,تا,شود,شد,می,ها,نیز,هم,'
        'اما,چه,کی,کجا,چرا,بود,های}'::text[]),
    ('polish', '{i,w,na,z,się,do,nie,że,to,jest,o,jak,po,co,ale,od,przez,za,dla,tym,'
        'oraz,był,czy,są,tylko,jego,lub,kto,gdzie,kiedy,jaki,który,która,które}'::text[]),
    ('portuguese', '{o,a,os,as,de,e,em,um,uma,que,do,da,dos,das,no,na,nos,nas,se,por,'
        'com,para,é,ao,à,não,mais,como,foi,são,ou,mas,sua,seu,pelo,pela,também,'
        'ser,está,quem,qual,quando,onde,foram,num,você,isso}'::text[]),
    ('romanian', '{și,a,în,de,la,cu,că,pe,din,care,nu,o,un,este,ale,al,au,fost,mai,'
        'pentru,sau,prin,după,să,se,sunt,ce,cine,când,unde,cum,cât,lui,ei,lor,'
        'dar,fi,această,acest,şi}'::text[]),
    ('russian', '{и,в,не,на,что,с,по,как,из,от,к,это,его,за,то,но,для,а,был,была,он,'
        'так,же,у,или,о,при,до,бы,все,который,которая,которые,её,их,если,она,'
        'они,только,когда,кто,где,почему,какой,каков,какую,какое,какая,какие,'
        'сколько,каким,каких,каком,чем,чего,кого,кому,куда,этот,этого,того,со,об,'
        'чтобы,также,после,через,между,может,можно,нет,есть,уже,еще,ещё,более,я,'
        'мы,вы,им,ему,нас,без,под,были,свои,своей,своего}'::text[]),
    ('serbian', '{i,u,je,se,na,da,su,za,od,sa,koji,koja,koje,kao,o,nije,bio,ili,iz,'
        'što,šta,ali,do,po,tko,ko,gdje,gde,kada,kako,bila,bi,te,и,у,је,се,на,'
        'да,су,за,од,са,који,која,које,као,о,није,био,или,из,што,шта,али,до,'
        'по,ко,где,када,како,била,би,те}'::text[]),
    ('slovak', '{a,v,sa,na,je,že,to,s,z,do,o,aj,ako,vo,pre,by,ale,k,po,sú,od,bol,'
        'alebo,ktorý,ktorá,ktoré,čo,kto,kde,kedy,nie,za,tým,byť}'::text[]),
    ('slovenian', '{in,v,je,na,se,da,za,so,z,bi,ki,pa,ne,kot,s,tudi,ali,po,iz,če,od,'
        'ni,bil,bilo,do,kaj,kdo,kje,kdaj,kako,lahko,pri}'::text[]),
    ('spanish', '{el,la,los,las,de,y,en,un,una,que,del,se,por,con,para,es,al,lo,no,'
        'su,sus,como,más,fue,son,o,pero,ha,este,esta,entre,cuando,ser,qué,cuál,'
        'quién,cuándo,dónde,cómo,cuántos,cuántas,cuáles,muy,también,le,te,si,está,'
        'hay,porque,sin}'::text[]),
    ('swahili', '{na,ya,wa,kwa,ni,katika,la,za,cha,kama,hii,yake,au,lakini,hiyo,kuwa,'
        'huo,nini,nani,wapi,lini}'::text[]),
    ('swedish', '{och,i,att,är,en,ett,det,den,till,på,av,med,för,som,de,inte,var,från,'
        'har,blev,men,sig,också,hon,han,efter,vid,om,kan,hade,eller,vad,vem,när,'
        'hur,vilken,vilka,varför,detta,denna,ska,blir,mot,där}'::text[]),
    ('tagalog', '{ang,ng,sa,na,at,mga,ay,ito,para,si,siya,hindi,kung,may,ni,ko,ka,niya,'
        'ano,sino,saan,kailan,paano}'::text[]),
    ('turkish', '{ve,bir,bu,da,de,için,ile,olarak,çok,daha,en,gibi,olan,ne,ama,kadar,'
        'sonra,ya,değil,mi,var,her,o,ki,veya,nasıl,kim,nerede,zaman,hangi,kaç,'
        'niçin}'::text[]),
    ('ukrainian', '{і,в,не,на,що,з,та,у,до,як,для,від,це,за,його,але,або,при,був,є,'
        'про,які,який,яка,яке,хто,де,коли,чому,скільки,так,із,й,бути}'::text[]),
    ('urdu', '{کے,میں,کی,ہے,اور,سے,کا,کو,پر,نے,کہ,یہ,اس,ہیں,ایک,بھی,نہیں,تھا,کیا,'
        'وہ}'::text[]),
    ('uzbek', '{va,bu,bilan,uchun,bir,ham,emas,lekin,yoki,deb,kerak,agar,bo,lgan,o}'::text[]),
    ('vietnamese', '{và,của,là,có,được,trong,cho,một,không,các,với,người,đã,này,những,từ,'
        'đến,khi,để,như,về,ở,bạn,tôi,gì,ai,đâu,nào,hay}'::text[]),
    ('welsh', '{yn,y,a,i,yr,o,ar,mae,wedi,am,ei,bod,gan,oedd,gyda,fel,hyn,neu,ond,'
        'hefyd,pan,beth,pwy,ble,sut,dim,nid}'::text[]),
    ('yiddish', '{די,און,איז,פון,דער,אין,צו,א,אויף,דאָס,מיט,נישט,האָט,וואָס,געווען,זײַן,'
        'זיך,אַז,ער}'::text[])) AS f (language, words);
END;

COMMENT ON FUNCTION rag._function_words IS
$$The most frequent words of languages: articles, prepositions, pronouns, question words.

Languages without a text search configuration are there so that their texts are not taken for those
of a neighbour.$$;


CREATE OR REPLACE FUNCTION rag._guess_language(content text, among text[] DEFAULT NULL)
RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path FROM CURRENT
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    slice CONSTANT integer := 1000;
    _length integer := length(content);
    _sample text := lower(CASE WHEN _length <= 3 * slice THEN content
        ELSE concat_ws(' ', left(content, slice), substr(content, _length / 2 - slice / 2, slice),
                       right(content, slice)) END);
    _script text;
    _found text;
BEGIN
    IF _sample ~ E'[^\\u0001-\\u036F\\u0400-\\u052F]' THEN
        IF regexp_count(_sample, rag._unspaced_script()) > 0.1 * length(_sample) THEN
            RETURN NULL;
        END IF;
        SELECT s.language INTO _script
        FROM (VALUES ('greek', E'[\\u0370-\\u03FF\\u1F00-\\u1FFF]'),
                     ('armenian', E'[\\u0531-\\u0587]'),
                     ('tamil', E'[\\u0B82-\\u0BCD]')) AS s (language, letters)
        WHERE regexp_count(_sample, s.letters) > 0.4 * length(_sample);
        IF FOUND THEN
            RETURN _script;
        END IF;
    END IF;
    WITH words AS MATERIALIZED (
        SELECT m.match[1] AS word, count(*) AS occurrences
        FROM regexp_matches(_sample, E'[^\\s\\d!-/:-@[-`{-~\\u00A0-\\u00BF\\u2000-\\u206F\\u0964'
            '\\u060C\\u061B\\u061F]+', 'g') AS m (match)
        GROUP BY 1
    ), hits AS MATERIALIZED (
        SELECT w.word, w.occurrences, array_agg(f.language) AS languages
        FROM rag._function_words() AS f, unnest(f.words) AS l (word)
        JOIN words AS w ON w.word = l.word
        WHERE among IS NULL OR f.language = ANY (among)
        GROUP BY 1, 2
    ), languages AS MATERIALIZED (
        SELECT l.language, sum(h.occurrences) AS hits, count(*) AS different,
               sum(h.occurrences / cardinality(h.languages)::double precision) AS weight
        FROM hits AS h, unnest(h.languages) AS l (language)
        GROUP BY 1
    ), best AS (
        SELECT l.* FROM languages AS l ORDER BY l.weight DESC, l.language LIMIT 1
    )
    SELECT b.language INTO _found
    FROM best AS b
    WHERE b.different >= 2 AND b.hits >= 0.06 * (SELECT sum(w.occurrences) FROM words AS w)
        AND NOT EXISTS (
            SELECT FROM languages AS l, hits AS h
            WHERE l.language <> b.language
            GROUP BY l.language
            HAVING coalesce(sum(h.occurrences) FILTER (
                    WHERE b.language = ANY (h.languages) AND l.language <> ALL (h.languages)), 0)
                < greatest(CASE WHEN among IS NULL THEN 2 ELSE 1 END,
                    2 * coalesce(sum(h.occurrences) FILTER (
                    WHERE l.language = ANY (h.languages) AND b.language <> ALL (h.languages)), 0)));
    RETURN _found;
END
$$;

COMMENT ON FUNCTION rag._guess_language IS
$$The language of a text by its name in English; NULL where it is not sure, and for scripts without
spaces.

It has at least two different function words of that language, 6 percent of all words, and of words
that are those of one of two languages only, two and twice as many as of any other language (among
few languages, given as among: one). Of a long text the beginning, the middle and the end are
read.$$;


CREATE OR REPLACE FUNCTION rag.detect_language(content text)
RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE
SET search_path FROM CURRENT
AS $$
DECLARE
    _found text := rag._guess_language(detect_language.content);
BEGIN
    RETURN CASE WHEN rag._has_language(_found) THEN _found END;
END
$$;

COMMENT ON FUNCTION rag.detect_language IS
$$The text search configuration for a text; NULL where its language has none, or is not certain.

Collections whose language is rag.auto use it for documents that come without a language. It reads
function words of about fifty languages, and scripts: a few sentences are enough, a title is seldom.
E.g. SELECT rag.detect_language('Der Urlaub wird bei der Leitung beantragt.')
Circle: application, Search.
SELECT rag.detect_language('Wo ist der Schlüssel der Tür?')$$;
