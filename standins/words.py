"""Words for the pages, in two lists that share nothing: a word's SHA-256 decides which list it is in.

Half of the vocabulary is common English, half is invented from syllables, so that a model that learns it has to read
letters and cannot get by with remembering words.
"""

from __future__ import annotations

import hashlib
import random

# Common English words of three to nine letters.
ENGLISH = """
able about above accept account across act action active actor add address adult advice after again against age agency
agent ago agree ahead air all allow almost alone along already also always among amount and animal annual answer any
appear apple apply area argue arm army around arrive art article ask assume attack author autumn avoid away baby back
bad bag balance ball bank bar base basic battle beach bear beat become bed before begin behind believe below bench
benefit best better between beyond big bill bird birth bit black blood blow blue board boat body bone book border born
both bottom box boy branch bread break bridge bright bring brother brown budget build burn bus business but buy cabin
call camera camp can cancer capital captain car card care career carry case castle cat catch cause cell center central
century certain chair chance change charge check chest child choice choose church circle citizen city civil claim class
clean clear climb clock close cloth cloud coach coal coast coffee cold collect college color column come common company
compare concern consider contain control cook copper copy corner cost cotton could council count country couple course
court cover create credit crime crowd culture cup current customer cut dance danger dark data date daughter day dead
deal death debate decade decide deep defense degree demand describe desert design desk detail develop device die differ
dinner direct discover discuss distance doctor dog door double down draw dream dress drink drive drop drug dry during
dust duty each early earth east easy eat economy edge editor effect effort egg eight either election else employ empty
end enemy energy engine enjoy enough enter entire equal error escape even evening event ever every evidence exact
example except exist expect expert explain eye face fact factor fail fair fall family famous far farm fast father fault
fear feature feel few field fight figure fill film final find fine finger finish fire firm first fish five flag flat
flight floor flow flower fly focus follow food foot force foreign forest forget form former fort forward four frame free
fresh friend from front fruit full fund future game garden gas gate gather general gentle get giant girl give glass goal
gold good govern grand grass gray great green ground group grow growth guard guess guest guide gun habit hair half hall
hand hang happen happy harbor hard hat have head health hear heart heat heavy height help her here herself hide high
hill him history hit hold hole holiday home honest hope horse hospital hot hotel hour house how huge human hundred hunt
hurry husband ice idea identify image imagine impact improve include increase indeed index industry inside instead iron
island issue item jacket job join joint journey judge juice jump jury just keep kettle key kid kill kind king kitchen
knee knife knock know label labor lack ladder lady lake lamp land language large last late later laugh law lawyer lay
lead leader leaf learn least leather leave left leg legal lemon length less lesson let letter level library lie life
lift light like limit line link lion list listen little live local lock long look lose loss lot love low lunch machine
magazine mail main maintain major make man manage many map march mark market marry master match material matter maybe
meal mean measure meat media medical meet member memory mention message metal method middle might mile military milk
million mind mine minute mirror miss model modern moment money month moon moral morning most mother motion mountain
mouse mouth move movie much muscle museum music must name narrow nation native nature near neck need needle nerve never
new news next nice night nine noise none nor north nose note nothing notice novel now number nurse oak object obtain
occur ocean off offer office officer often oil old once one onion only open operate option orange order organ other our
out outside oven over own owner page pain paint pair palace panel paper parent park part partner party pass past path
patient pattern pay peace pencil people pepper perfect perhaps period person phone photo phrase piano pick picture piece
pilot pink place plan plane plant plastic plate play please plenty pocket poem point police policy pool poor popular
port position possible pot potato pound power practice prepare present press pretty prevent price print prison private
problem process produce product program project proof proper protect prove provide public pull pump purple purpose push
put quality quarter queen question quick quiet quite race radio rail rain raise range rate rather reach read ready real
reason receive recent record red reduce region relate remain remember remove repeat report request require rescue
research rest result return reveal rich ride right ring rise risk river road rock role roof room root rope rough round
route row rule run rural safe sail salt same sand save say scale scene school science score screen sea search season
seat second secret section security see seed seek seem sell send senior sense series serious serve service set seven
several shade shake shape share sharp sheet shelf shell shine ship shirt shock shoe shoot shop short should shoulder
shout show shut sick side sign signal silent silver similar simple since sing single sister site six size skill skin sky
sleep slide slow small smell smile smoke smooth snow social soft soil soldier some son song soon sort sound soup source
south space speak special speech speed spell spend spirit sport spread spring square stage stand standard star start
state station stay steam steel step stick still stock stomach stone stop store storm story straight strange street
strong student study stuff style subject success such sudden suffer sugar suggest suit summer sun supply support sure
surface sweet swim sword symbol system table tail take talk tall target task taste tax tea teach team tell ten tend term
test thank that them theory there thick thin thing think third thirty this thousand thread three through throw thumb
ticket tide tie tiger time tiny title today together tomorrow tone tongue tonight tool tooth top topic total touch tough
tour toward tower town toy track trade train travel treat tree trial trip trouble truck true trust truth try tube turn
twelve twenty twice two type uncle under unit until upon use useful usual valley value various vehicle version very
victim view village violence visit voice volume vote wait walk wall want war warm warn wash watch water wave way weapon
wear weather week weight west western wet what wheel when where which while whisper white who whole why wide wife wild
will win wind window wine wing winter wire wise wish with woman wonder wood word work world worry worth would write
wrong yard year yellow yes yesterday yet young youth zero zone
""".split()

INVENTED = 6000
_ONSETS = "b c d f g h j k l m n p q r s t v w x y z br ch cl dr fl gr pl sh sk st th tr wh".split()
_VOWELS = "a e i o u ai ea oo ou".split()
_CODAS = ["", "", "", "n", "r", "s", "t", "l", "m", "ck", "x", "nd", "p", "z", "g"]


def is_test(word: str) -> bool:
    """True when `word` may only be used in tests: its SHA-256 (lower case, UTF-8) is odd."""
    return hashlib.sha256(word.lower().encode()).digest()[-1] % 2 == 1


def invented(count: int = INVENTED, seed: int = 1) -> list[str]:
    """`count` different pronounceable words of three to nine letters, none of them in ENGLISH; the same for a seed."""
    rng = random.Random(seed)  # noqa: S311  (reproducible data, not a secret)
    taken = set(ENGLISH)
    words: list[str] = []
    while len(words) < count:
        parts = [rng.choice(_ONSETS) + rng.choice(_VOWELS) + rng.choice(_CODAS) for _ in range(rng.randint(1, 3))]
        word = "".join(parts)
        if 3 <= len(word) <= 9 and word not in taken:
            taken.add(word)
            words.append(word)
    return words


def train_words() -> list[str]:
    """English and invented words for training, sorted."""
    return sorted({word for word in [*ENGLISH, *invented()] if not is_test(word)})


def test_words() -> list[str]:
    """English words for tests (and no invented ones: test pages are to look like pages), sorted."""
    return sorted({word for word in ENGLISH if is_test(word)})
