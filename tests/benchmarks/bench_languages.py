"""Labels in five languages: ``python -m tests.benchmarks.bench_languages``.

Per-class accuracy of the photo model (Lite0) on the 22 animals of ``$AEZSL_REFERENCE_DATA/photos``, with their names in
English, German, French, Spanish and Chinese: by both encoders side by side, as the model is, and by each alone.
"""

import numpy as np

from aezsl.arrays import unit_rows
from aezsl.encoders.knowledge import ENCODERS, label_vectors, load_knowledge
from aezsl.encoders.knowledge.labels import plain_label
from aezsl.methods.heads.methods import AEZSLHeads
from tests.benchmarks.bench_photos import accuracy, photo_sets
from tests.benchmarks.photo_tasks import data_folder

ENGLISH = "ape bear bison cat chicken cow deer dog dolphin duck eagle fish horse lion lobster pig rabbit shark snake"
LANGUAGES = {
    "English": f"{ENGLISH} spider turkey wolf",
    "German": "Affe Bär Bison Katze Huhn Kuh Hirsch Hund Delfin Ente Adler Fisch Pferd Löwe Hummer Schwein Kaninchen "
    "Hai Schlange Spinne Truthahn Wolf",
    "French": "singe ours bison chat poulet vache cerf chien dauphin canard aigle poisson cheval lion homard cochon "
    "lapin requin serpent araignée dinde loup",
    "Spanish": "simio oso bisonte gato pollo vaca ciervo perro delfín pato águila pez caballo león langosta cerdo "
    "conejo tiburón serpiente araña pavo lobo",
    "Chinese": "猿 熊 野牛 猫 鸡 牛 鹿 狗 海豚 鸭子 鹰 鱼 马 狮子 龙虾 猪 兔子 鲨鱼 蛇 蜘蛛 火鸡 狼",
}


def table(model, encoders, X, y):
    """Accuracy by language."""
    found = {}
    for language, words in LANGUAGES.items():
        labels = [plain_label(word) for word in words.split()]
        A = unit_rows(label_vectors(labels, encoders).astype(np.float64))
        found[language] = accuracy(model.decision_function(X, A), y)
    return found


def main():
    _, names, features, y = next(one for one in photo_sets(data_folder() / "photos") if one[0] == "animals")
    if names != LANGUAGES["English"].split():
        raise SystemExit(f"the classes of the photos are others: {names}")
    print(f"{'':24}" + "".join(f"{language:>9}" for language in LANGUAGES))
    for encoders in (ENCODERS, *((one,) for one in ENCODERS)):
        model = AEZSLHeads().fit(load_knowledge(encoders=encoders))
        row = table(model, encoders, features["lite0"], y)
        print(f"{' + '.join(encoders):24}" + "".join(f"{value:9.1f}" for value in row.values()), flush=True)


if __name__ == "__main__":
    main()
